// number_text(): a number in its shortest exact decimal form.
//
// Purpose: the one text of a number in conditions (KEY=VALUE), hashes and redaction rules. Thread safety: a pure
// function. Errors: none.
#pragma once

#include <charconv>
#include <string>

namespace fathom {

template <typename T>
std::string number_text(T value) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end.ptr};
}

}  // namespace fathom
