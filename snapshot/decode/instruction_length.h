// instruction_length(): how long libipt takes an instruction to be, whether or not others know it.
//
// Purpose: flow was decoded by libipt's idea of lengths; whoever prints its instructions goes on behind one that a
// disassembler rejects (code that is younger than it, encodings that only a processor accepts). Thread safety: a pure
// function. Errors: none; 0 where libipt takes the bytes for no instruction either. Costs a decoder: for few bytes.
#pragma once

#include <cstdint>
#include <span>

#include "snapshot/decode/flow.h"

namespace fathom::snapshot {

uint8_t instruction_length(std::span<const uint8_t> bytes, CodeMode mode);

}  // namespace fathom::snapshot
