# Fails unless PROGRAM prints exactly FILE.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE printed RESULT_VARIABLE status)
file(READ ${FILE} stored)
if(NOT status EQUAL 0 OR NOT printed STREQUAL stored)
  message(FATAL_ERROR "${FILE} is out of date: run the program and store what it prints\n${printed}")
endif()
