// in_flag(): a fault, said of the flag (or the key of a file) whose value led to it: "--http: cannot listen ...".
//
// Purpose: who reads it knows what to change, and a program that read a file finds its line. Thread safety: plain
// functions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom {

inline Error in_flag(std::string_view flag, const Error& error) {
  return {error.code, std::string(flag) + ": " + error.message};
}

template <typename T>
Result<T> in_flag(std::string_view flag, Result<T> result) {
  if (!result) return in_flag(flag, result.error());
  return result;
}

}  // namespace fathom
