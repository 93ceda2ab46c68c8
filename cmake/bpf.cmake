# fathom_bpf_object(<target> <source.bpf.c> <symbol>): compiles a BPF program with clang, and has the object's bytes in
# the target as `const unsigned char <symbol>[]` and `const size_t <symbol>Bytes` of namespace fathom::agent::kernel.
#
# No header of the kernel is read: what the program needs of it, it declares, and libbpf finds the members' places in
# the running kernel's own description (BTF).
find_program(FATHOM_BPF_CLANG NAMES clang-16 clang REQUIRED)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(FATHOM_BPF_ARCHITECTURE arm64)
else()
  set(FATHOM_BPF_ARCHITECTURE x86)
endif()

function(fathom_bpf_object target source symbol)
  get_filename_component(name ${source} NAME_WE)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o)
  set(bytes ${CMAKE_CURRENT_BINARY_DIR}/${name}_object.cc)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${source})
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${FATHOM_BPF_CLANG} -target bpf -mcpu=v3 -O2 -g -Wall -Werror -D__TARGET_ARCH_${FATHOM_BPF_ARCHITECTURE}
            -ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -I${CMAKE_SOURCE_DIR} -I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
            -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
    DEPENDS ${source}
    DEPFILE ${object}.d
    COMMENT "BPF ${name}"
    VERBATIM)
  add_custom_command(
    OUTPUT ${bytes}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${object} -DOUTPUT=${bytes} -DSYMBOL=${symbol} -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${object} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${bytes})
endfunction()
