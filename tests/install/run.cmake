# Installs the build into a prefix, builds the consumer against it, runs it, and looks at what it says.
#   cmake -DBUILD=<build dir> -DSOURCE=<this dir> -DCOMPILER=<c++> -DFLAGS=<flags> -P run.cmake
set(work ${BUILD}/tests/install)
file(REMOVE_RECURSE ${work}/prefix ${work}/consumer)
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${status}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${work}/consumer -DCMAKE_PREFIX_PATH=${work}/prefix -DCMAKE_CXX_COMPILER=${COMPILER}
  "-DCMAKE_CXX_FLAGS=${FLAGS}")
run(${CMAKE_COMMAND} --build ${work}/consumer)
run(${work}/consumer/consumer)
if(NOT output MATCHES "#### 41" OR NOT output MATCHES "refused: .*nonexistent")
  message(FATAL_ERROR "the consumer said:\n${output}")
endif()
