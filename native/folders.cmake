# Each folder of native/ is a library that sees the headers of its own folder and of those it may use, and no others: an
# include of anything else does not compile.
#
#   headway_folder(decode USES wire SOURCES a.cpp b.cpp)      -> the library headway_decode of native/decode
#   headway_folder(agent/jvm USES agent/state SOURCES ...)    -> headway_agent_jvm of native/agent/jvm
#
# What a folder uses can be seen by who uses the folder, too: its headers may need it. A header is included by its path below
# native/, which is on no include path: each library has a folder of its own with one link in it, to the folder of its sources.
function(headway_folder folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "USES;SOURCES")
  string(REPLACE / _ name ${folder})
  set(seen ${CMAKE_BINARY_DIR}/include/${name})
  cmake_path(GET folder PARENT_PATH parent)
  file(MAKE_DIRECTORY ${seen}/${parent})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/native/${folder} ${seen}/${folder} SYMBOLIC)
  set(used ${arg_USES})
  list(TRANSFORM used REPLACE / _)
  list(TRANSFORM used PREPEND headway_)
  if(arg_SOURCES)
    list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_SOURCE_DIR}/native/${folder}/ REGEX "^[^/$]")
    add_library(headway_${name} STATIC ${arg_SOURCES})
    target_include_directories(headway_${name} PUBLIC ${seen})
    target_link_libraries(headway_${name} PUBLIC ${used})
  else()  # headers only
    add_library(headway_${name} INTERFACE)
    target_include_directories(headway_${name} INTERFACE ${seen})
    target_link_libraries(headway_${name} INTERFACE ${used})
  endif()
endfunction()
