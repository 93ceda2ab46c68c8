// limit_memory(): bounds what this process writes to memory.
//
// Purpose: a decoder of hostile bytes must not take the memory of the programs beside it. Mapped files are not counted,
// because the kernel can take them back. Thread safety: before any other thread. Units: bytes. Errors: memory that is
// missing later ends the process with ExitCode::kLocalFailure and a message that names the fix. Sanitized builds have
// no limit: their shadow memory is larger than any.
#pragma once

#include <cstdint>

namespace fathom {

void limit_memory(uint64_t bytes);

}  // namespace fathom
