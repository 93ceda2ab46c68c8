# FATHOM_SANITIZE: the -fsanitize list of a build; FATHOM_FUZZ: build *_fuzz.cc as libFuzzer targets (clang only);
# FATHOM_COVERAGE: count the lines that tests execute (clang only), for cmake/coverage.py.
set(FATHOM_SANITIZE "" CACHE STRING "sanitizers of this build, as -fsanitize takes them")
option(FATHOM_FUZZ "build libFuzzer targets" OFF)
option(FATHOM_COVERAGE "instrument for line coverage" OFF)

add_compile_options(-Wall -Wextra -Werror -Wno-missing-field-initializers -fno-omit-frame-pointer)
# g++ 12 reports overlapping copies inside std::string where there are none (GCC bug 105329).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)
endif()
if(FATHOM_SANITIZE)
  # object-size takes a tenth of the compile time, and AddressSanitizer finds the same errors.
  add_compile_options(-fsanitize=${FATHOM_SANITIZE} -fno-sanitize=object-size -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${FATHOM_SANITIZE})
  # ThreadSanitizer needs the atomic operations that Asio's headers inline.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND FATHOM_SANITIZE MATCHES "address")
    # ccache hashes the file's content under this name of the option only. The path is relative so that clones share the cache.
    file(RELATIVE_PATH not_sanitized ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/cmake/not_sanitized.txt)
    add_compile_options(-fsanitize-blacklist=${not_sanitized})
  endif()
endif()
if(FATHOM_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(FATHOM_COVERAGE)
  # Programs map the file of their counters, so that those of a killed program are not lost.
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping "SHELL:-mllvm -runtime-counter-relocation")
  add_link_options(-fprofile-instr-generate)
endif()

# Options for code that protoc generates: we cannot fix its warnings, and sanitizers would find none of our errors in it.
function(fathom_set_generated_code_options target)
  target_compile_options(${target} PRIVATE -w)
  if(FATHOM_SANITIZE)
    target_compile_options(${target} PRIVATE -fno-sanitize=all -O0 -g0)
  endif()
endfunction()

# Options for test code: without optimization and fuzzing instrumentation it compiles in half the time. The library under test
# is still optimized. Under sanitizers, tests at -O0 would take more time to run than they save in compilation.
function(fathom_set_test_code_options target)
  set(level -O0)
  if(FATHOM_SANITIZE)
    set(level -O1)
  endif()
  target_compile_options(${target} PRIVATE ${level} $<$<BOOL:${FATHOM_FUZZ}>:-fno-sanitize=fuzzer-no-link>)
endfunction()
