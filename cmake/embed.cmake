# Writes the bytes of the file INPUT as a C++ array SYMBOL into OUTPUT; run by fathom_bpf_object().
file(READ ${INPUT} digits HEX)
string(REGEX REPLACE "(................................)" "\\1\n" lines "${digits}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${lines}")
file(WRITE ${OUTPUT} "#include <cstddef>
namespace fathom::agent::kernel {
alignas(16) extern const unsigned char ${SYMBOL}[] = {
${bytes}
};
extern const size_t ${SYMBOL}Bytes = sizeof ${SYMBOL};
}
")
