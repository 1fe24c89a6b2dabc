# Tests of a native part without Python, meant to run plain and under ASan/UBSan:
#   headway_tests(decode_reading by_id)   -> decode_reading_by_id_test of by_id_test.cpp, linked with headway_decode_reading
# Beside them fuzz.cpp, where there is one: a test over the same few hundred inputs each time (testing/fuzz_inputs.cpp), or, with clang and
# HEADWAY_SANITIZE=fuzzer-no-link,..., a libFuzzer target:
#   cmake -B build/fuzz -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DHEADWAY_TESTS=ON -DHEADWAY_PYTHON=OFF \
#         -DHEADWAY_SANITIZE=fuzzer-no-link,address,undefined
#   cmake --build build/fuzz --target jfr_fuzz && build/fuzz/native/jfr/tests/jfr_fuzz -max_len=70000 CORPUS SEEDS
function(headway_tests part)
  foreach(name ${ARGN})
    add_executable(${part}_${name}_test ${name}_test.cpp)
    target_link_libraries(${part}_${name}_test PRIVATE headway_${part} headway_testing)
    add_test(NAME ${part}_${name} COMMAND ${part}_${name}_test)
  endforeach()
  if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz.cpp)
    return()
  endif()
  add_executable(${part}_fuzz fuzz.cpp)
  target_link_libraries(${part}_fuzz PRIVATE headway_${part} headway_testing)
  if(HEADWAY_SANITIZE MATCHES fuzzer)
    target_link_options(${part}_fuzz PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${part}_fuzz PRIVATE ${CMAKE_SOURCE_DIR}/native/testing/fuzz_inputs.cpp)
    add_test(NAME ${part}_fuzz COMMAND ${part}_fuzz)
  endif()
endfunction()
