# Warnings and sanitizers, as one interface target that every target of ours links.
add_library(conclave_warnings INTERFACE)
target_compile_options(conclave_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion>)
if(CONCLAVE_WERROR)
  target_compile_options(conclave_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

if(CONCLAVE_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${CONCLAVE_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>)
  add_link_options(-fsanitize=${CONCLAVE_SANITIZE})
endif()
if(CONCLAVE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "CONCLAVE_FUZZ needs clang (found ${CMAKE_CXX_COMPILER_ID}): use the preset 'fuzz'")
  endif()
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()
