// confine(): takes from this process what a decoder of strangers' bytes does not need.
//
// Purpose: bounded memory, a lower priority than whoever serves people, no network, no other programs. Thread safety:
// before any other thread. Errors: a kernel that refuses a part leaves it out; what remains holds. Ending: memory that
// is not there ends the process with ExitCode::kLocalFailure and a word on the cure.
#pragma once

#include <cstdint>

namespace fathom {

void confine(uint64_t memory_bytes);

}  // namespace fathom
