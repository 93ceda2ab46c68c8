// FunctionList: the functions that an answer names, each once, with a number.
//
// Purpose: names of C++ are long, and an answer has them by the thousand. Thread safety: none, one per answer.
// Ownership: refers to the names, which outlive it. Errors: none; what nobody knows is named by its address.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "net/json_writer.h"
#include "snapshot/decode/call_functions.h"
#include "snapshot/decode/code_names.h"

namespace fathom::snapshot {

class FunctionList {
 public:
  explicit FunctionList(const CodeNames& names) : names_(names) {}

  size_t number(const CallFunction& function);
  // Of the function, or the image, that `place` says is at an address of a process.
  size_t number(const CodePlace& place, int32_t pid, uint64_t tsc);
  // A member "functions".
  void write(net::JsonWriter& json) const;

 private:
  struct Row {
    std::string name;
    std::string image;
    std::string file;
    uint64_t line = 0;
  };
  size_t add(std::string name, const CodePlace& place, int32_t pid, uint64_t tsc);

  const CodeNames& names_;
  std::unordered_map<const CallFunction*, size_t> calls_;
  std::unordered_map<std::string, size_t> numbers_;  // by name and image
  std::vector<Row> rows_;
};

}  // namespace fathom::snapshot
