// InstructionPattern: which instructions a person means by a word.
//
// Purpose: the targets of `delta` (the paper's I_t and S_t). In this order, a pattern is
//   0x401136                an address
//   superCLI, syscall, ...  a group of instructions (instruction_groups() lists them)
//   cli, mov, j*            an instruction, or all that fit
//   "mov eax, *"            an instruction with its operands, in Intel's syntax as `insns` prints it
//   main.cc:42              where code of a line begins, once per function
//   shop::handle            a function's entry; handle+0x10 the instruction there. So a function that is called as an
//                           instruction is can be had as name+0.
// Thread safety: const after parse(). Errors: kInvalid when nothing is called so, with the nearest names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "snapshot/analyze/instruction_decoder.h"
#include "snapshot/decode/code_names.h"

namespace fathom::snapshot {

struct NamedGroup {
  std::string_view name;
  InstructionGroup group;
  std::string_view meaning;
};
const std::vector<NamedGroup>& instruction_groups();

class InstructionPattern {
 public:
  static Result<InstructionPattern> parse(const std::string& text, const Snapshot& snapshot, const CodeNames& names);

  bool matches(const DecodedBlock& block, const DecodedInstruction& instruction) const;
  const std::string& text() const { return text_; }
  // What it was taken for: "instruction", "2 places", "cli; popf of flags whose interrupt bit was cleared".
  const std::string& meaning() const { return meaning_; }

 private:
  using Place = std::pair<uint32_t, uint64_t>;  // image, offset in its file

  explicit InstructionPattern(std::string text) : text_(std::move(text)) {}
  bool take_address();
  bool take_group();
  bool take_mnemonics();
  bool take_operands();
  bool take_line(const Snapshot& snapshot, const CodeNames& names);
  bool take_symbol(const Snapshot& snapshot, const CodeNames& names);
  void add_function(uint32_t image, const Function& function, uint64_t offset);
  void count_places();

  std::string text_;
  std::string meaning_;
  uint16_t groups_ = 0;
  std::vector<bool> mnemonics_;
  std::string operands_;             // a pattern of the whole text
  std::vector<Place> places_;        // sorted
  std::vector<uint64_t> addresses_;  // sorted
};

}  // namespace fathom::snapshot
