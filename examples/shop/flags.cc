#include "flags.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace shop {

namespace {

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "shop: %s\n", what.c_str());
  std::exit(2);
}

}  // namespace

Flags::Flags(const std::vector<std::string>& words, std::map<std::string, std::string> known)
    : values_(std::move(known)) {
  for (size_t i = 0; i < words.size(); i += 2) {
    auto value = values_.find(words[i]);
    if (value == values_.end()) refuse("unknown flag " + words[i]);
    if (i + 1 == words.size()) refuse(words[i] + " wants a value");
    value->second = words[i + 1];
  }
}

uint64_t Flags::number(const std::string& name) const {
  const std::string& digits = text(name);
  uint64_t value = 0;
  auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (fault != std::errc() || end != digits.data() + digits.size()) refuse(name + " wants a number, not " + digits);
  return value;
}

}  // namespace shop
