#include "snapshot/analyze/instruction_pattern.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/name_pattern.h"
#include "base/suggest.h"
#include "base/text.h"

namespace fathom::snapshot {
namespace {

constexpr size_t kMostNamesCompared = 50'000;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool has_star(std::string_view text) {
  return text.find_first_of("*?") != std::string_view::npos;
}

std::optional<uint64_t> number(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  uint64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc() || at != text.data() + text.size()) return std::nullopt;
  return value;
}

// Words that may stand before an instruction's name.
bool is_prefix(std::string_view word) {
  for (const std::string_view prefix :
       {"lock", "rep", "repe", "repz", "repne", "repnz", "bnd", "xacquire", "xrelease", "notrack"}) {
    if (word == prefix) return true;
  }
  return false;
}

template <typename T>
void sort_out(std::vector<T>& list) {
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

std::vector<std::string> near_names(const Snapshot& snapshot, const CodeNames& names) {
  std::vector<std::string> known;
  for (const NamedGroup& group : instruction_groups()) known.emplace_back(group.name);
  for (uint16_t i = 1; !mnemonic_name(i).empty(); ++i) known.emplace_back(mnemonic_name(i));
  for (uint32_t image = 0; image < snapshot.images.size() && known.size() < kMostNamesCompared; ++image) {
    for (std::string& name : names.symbols(image)->some_names(kMostNamesCompared - known.size())) {
      known.push_back(name.substr(0, name.find('(')));
    }
  }
  return known;
}

// At any time, in any process, whether or not its bytes are there.
bool shows_code(const Snapshot& snapshot, uint64_t address) {
  return std::ranges::any_of(snapshot.sideband, [address](const Sideband& row) {
    const bool code = row.kind == SidebandKind::kMap || row.kind == SidebandKind::kKernelSymbol;
    return code && address >= row.address && address - row.address < row.length;
  });
}

Error unknown(const std::string& text, const Snapshot& snapshot, const CodeNames& names) {
  return invalid("no instruction, group, function or line of this snapshot is called '" + printable(text) + "'" +
                 printable(did_you_mean(text, near_names(snapshot, names))));
}

}  // namespace

const std::vector<NamedGroup>& instruction_groups() {
  static const std::vector<NamedGroup> kGroups = {
      {"superCLI", kGroupDisablesInterrupts, "cli, and popf of flags whose interrupt bit was just cleared"},
      {"superSTI", kGroupEnablesInterrupts, "sti, and every other popf"},
      {"syscall", kGroupSystemCall, "syscall, sysenter, int 0x80"},
      {"lock", kGroupLock, "instructions with a lock prefix, and xchg with memory"},
      {"call", kGroupCall, "calls"},
      {"return", kGroupReturn, "returns"},
      {"jump", kGroupJump, "unconditional jumps"},
      {"branch", kGroupBranch, "conditional jumps"},
      {"fpu", kGroupFpu, "x87 instructions"},
      {"vector", kGroupVector, "instructions with vector registers (SSE, AVX, AVX-512)"},
      {"fence", kGroupFence, "mfence, lfence, sfence"},
  };
  return kGroups;
}

Result<InstructionPattern> InstructionPattern::parse(const std::string& text, const Snapshot& snapshot,
                                                     const CodeNames& names) {
  InstructionPattern pattern(text);
  if (pattern.take_address()) {
    if (shows_code(snapshot, pattern.addresses_.front())) return pattern;
    return invalid("no process of this snapshot has code at " + printable(text));
  }
  if (text.empty()) return invalid("a pattern is empty: give an instruction, a group, a function or FILE:LINE");
  if (pattern.take_group() || pattern.take_mnemonics() || pattern.take_operands() ||
      pattern.take_line(snapshot, names) || pattern.take_symbol(snapshot, names)) {
    return pattern;
  }
  return unknown(text, snapshot, names);
}

bool InstructionPattern::take_address() {
  if (!text_.starts_with("0x")) return false;
  const auto address = number(text_);
  if (!address) return false;
  addresses_.push_back(*address);
  meaning_ = "address";
  return true;
}

bool InstructionPattern::take_group() {
  for (const NamedGroup& group : instruction_groups()) {
    if (lower_case(group.name) != lower_case(text_)) continue;
    groups_ = group.group;
    meaning_ = group.meaning;
    return true;
  }
  return false;
}

bool InstructionPattern::take_mnemonics() {
  const std::string wanted = lower_case(text_);
  size_t count = 0;
  mnemonics_.push_back(false);
  for (uint16_t i = 1; !mnemonic_name(i).empty(); ++i) {
    const bool fits = has_star(wanted) ? fits_pattern(wanted, mnemonic_name(i)) : wanted == mnemonic_name(i);
    mnemonics_.push_back(fits);
    count += fits ? 1 : 0;
  }
  if (count == 0) mnemonics_.clear();
  meaning_ = count == 1 ? "instruction" : std::to_string(count) + " instructions";
  return count > 0;
}

bool InstructionPattern::take_operands() {
  const std::string wanted = lower_case(text_);
  const std::string first = wanted.substr(0, wanted.find(' '));
  if (first.size() == wanted.size() || !(mnemonic_number(first) != 0 || is_prefix(first) || has_star(first)))
    return false;
  operands_ = wanted;
  meaning_ = "instructions that read so";
  return true;
}

bool InstructionPattern::take_line(const Snapshot& snapshot, const CodeNames& names) {
  const size_t colon = text_.rfind(':');
  if (colon == std::string::npos || colon == 0 || text_[colon - 1] == ':') return false;
  const auto line = number(std::string_view(text_).substr(colon + 1));
  if (!line || *line == 0 || *line > UINT32_MAX) return false;
  for (uint32_t image = 0; image < snapshot.images.size(); ++image) {
    for (const uint64_t offset :
         names.symbols(image)->offsets_of_line(text_.substr(0, colon), static_cast<uint32_t>(*line))) {
      places_.emplace_back(image, offset);
    }
  }
  count_places();
  return !places_.empty();
}

void InstructionPattern::add_function(uint32_t image, const Function& function, uint64_t offset) {
  if (function.begin + offset < function.end) places_.emplace_back(image, function.begin + offset);
}

bool InstructionPattern::take_symbol(const Snapshot& snapshot, const CodeNames& names) {
  std::string name = text_;
  uint64_t offset = 0;
  const size_t plus = text_.rfind('+');
  const auto stated = plus == std::string::npos ? std::nullopt : number(std::string_view(text_).substr(plus + 1));
  if (stated) {
    offset = *stated;
    name.resize(plus);
  }
  for (uint32_t image = 0; image < snapshot.images.size(); ++image) {
    for (const Function* function : names.symbols(image)->named(name)) add_function(image, *function, offset);
  }
  for (const Function* function : names.kernel_named(name)) {
    if (function->begin + offset < function->end) addresses_.push_back(function->begin + offset);
  }
  count_places();
  return !places_.empty() || !addresses_.empty();
}

void InstructionPattern::count_places() {
  sort_out(addresses_);
  sort_out(places_);
  const size_t count = places_.size() + addresses_.size();
  meaning_ = count == 1 ? "1 place" : std::to_string(count) + " places";
}

bool InstructionPattern::matches(const DecodedBlock& block, const DecodedInstruction& instruction) const {
  if ((instruction.groups & groups_) != 0) return true;
  if (instruction.mnemonic < mnemonics_.size() && mnemonics_[instruction.mnemonic]) return true;
  if (!operands_.empty() && fits_pattern(operands_, instruction.text)) return true;
  if (std::ranges::binary_search(addresses_, instruction.address)) return true;
  if (places_.empty()) return false;
  const uint64_t offset = block.range.file_offset + (instruction.address - block.range.begin);
  return std::ranges::binary_search(places_, Place{block.range.image, offset});
}

}  // namespace fathom::snapshot
