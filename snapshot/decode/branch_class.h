// What kind of transfer an instruction is, from its first bytes.
//
// Purpose: libipt's block cache does not say what an indirect jump or a far transfer is; this does. Thread safety: a
// pure function. Errors: bytes that are neither are kOther. Source: Intel's manual, the opcode maps.
#pragma once

#include <cstdint>
#include <span>

#include "snapshot/decode/flow.h"

namespace fathom::snapshot {

BlockEnd far_or_indirect(std::span<const uint8_t> bytes, bool long_mode);

}  // namespace fathom::snapshot
