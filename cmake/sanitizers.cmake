# FATHOM_SANITIZE: the -fsanitize list of a build; FATHOM_FUZZ: build *_fuzz.cc as libFuzzer targets (clang only).
set(FATHOM_SANITIZE "" CACHE STRING "sanitizers of this build, as -fsanitize takes them")
option(FATHOM_FUZZ "build libFuzzer targets" OFF)

add_compile_options(-Wall -Wextra -Werror -Wno-missing-field-initializers -fno-omit-frame-pointer)
if(FATHOM_SANITIZE)
  add_compile_options(-fsanitize=${FATHOM_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${FATHOM_SANITIZE})
endif()
if(FATHOM_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
