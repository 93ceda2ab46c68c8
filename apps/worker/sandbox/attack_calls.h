// attack_calls(): system calls that neither a decoder nor its libraries make, whatever their arguments.
//
// Purpose: the first such call proves that somebody else's code runs, so it ends the process. Thread safety: pure
// function. Ownership: static. Errors: none. Numbers that the C library's headers do not know yet are absent here, and
// fail with EPERM like every call that is not listed.
#pragma once

#include <span>

namespace fathom {

std::span<const int> attack_calls();

}  // namespace fathom
