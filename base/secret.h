// random_secret(): what nobody can guess: tokens and one-time codes.
//
// Thread safety: a plain function. Errors: none; without random numbers of the kernel the process ends.
#pragma once

#include <string>

namespace fathom {

// 64 hex digits, from 32 random bytes.
std::string random_secret();

}  // namespace fathom
