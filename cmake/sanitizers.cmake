# FATHOM_SANITIZE: the -fsanitize list of a build; FATHOM_FUZZ: build *_fuzz.cc as libFuzzer targets (clang only).
set(FATHOM_SANITIZE "" CACHE STRING "sanitizers of this build, as -fsanitize takes them")
option(FATHOM_FUZZ "build libFuzzer targets" OFF)

add_compile_options(-Wall -Wextra -Werror -Wno-missing-field-initializers -fno-omit-frame-pointer)
# g++ 12 reports overlapping copies inside std::string where there are none (GCC bug 105329).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)
endif()
if(FATHOM_SANITIZE)
  # AddressSanitizer finds what object-size does, which takes a tenth of the compilation.
  add_compile_options(-fsanitize=${FATHOM_SANITIZE} -fno-sanitize=object-size -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${FATHOM_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # ccache hashes the file's content under this name of the option only. The path is relative so that clones share the cache.
    file(RELATIVE_PATH not_sanitized ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/cmake/not_sanitized.txt)
    add_compile_options(-fsanitize-blacklist=${not_sanitized})
  endif()
endif()
if(FATHOM_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Code that protoc generates: its warnings are not ours, and sanitizers would find nothing of ours in it.
function(fathom_generated_code target)
  target_compile_options(${target} PRIVATE -w)
  if(FATHOM_SANITIZE)
    target_compile_options(${target} PRIVATE -fno-sanitize=all -O0 -g0)
  endif()
endfunction()

# Code of tests is not optimized, nor instrumented for fuzzing: it takes half as long to compile. What is tested is the
# library, which is optimized. Under sanitizers tests that are not optimized lose more time than their compilation saves.
function(fathom_test_code target)
  set(level -O0)
  if(FATHOM_SANITIZE)
    set(level -O1)
  endif()
  target_compile_options(${target} PRIVATE ${level} $<$<BOOL:${FATHOM_FUZZ}>:-fno-sanitize=fuzzer-no-link>)
endfunction()
