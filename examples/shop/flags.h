// The command line of one part of the shop: --name value, and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shop {

class Flags {
 public:
  // `known` gives every flag its fallback. On a wrong command line: says so, and ends the program with status 2.
  Flags(const std::vector<std::string>& words, std::map<std::string, std::string> known);

  const std::string& text(const std::string& name) const { return values_.at(name); }
  uint64_t number(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace shop
