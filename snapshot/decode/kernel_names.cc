#include "snapshot/decode/kernel_names.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "snapshot/symbols/demangle.h"

namespace fathom::snapshot {
namespace {

constexpr size_t kMostNames = 4u << 20;
constexpr size_t kMostOverlaps = 64;  // names that are looked at for one address
constexpr uint64_t kKernelBegin = 1ull << 63;

bool is_name(const Sideband& row) {
  return row.kind == SidebandKind::kKernelSymbol && !row.text.empty() && row.address + row.length >= row.address;
}

// "ffffffff81000000 T _text	[module]": nothing where it is no code.
std::optional<Function> parse_line(std::string_view line) {
  Function function;
  const char* end = line.data() + line.size();
  const auto [at, error] = std::from_chars(line.data(), end, function.begin, 16);
  if (error != std::errc() || end - at < 4 || at[0] != ' ' || at[2] != ' ') return std::nullopt;
  if (std::string_view("tTwW").find(at[1]) == std::string_view::npos || function.begin < kKernelBegin)
    return std::nullopt;
  const std::string_view name(at + 3, static_cast<size_t>(end - at - 3));
  function.name = name.substr(0, name.find_first_of("\t \r"));
  function.end = function.begin;
  return function;
}

}  // namespace

KernelNames::KernelNames(const Snapshot& snapshot) {
  for (const Sideband& row : snapshot.sideband) {
    if (!is_name(row)) continue;
    if ((row.flags & kFlagGone) != 0) {
      end(row);
    } else if (names_.size() < kMostNames) {
      names_.push_back({{row.address, row.address + row.length, row.text}, row.tsc, UINT64_MAX});
    }
  }
}

// Programs of BPF go soon after they came, so the end of the list is where it is found.
void KernelNames::end(const Sideband& row) {
  const size_t last = names_.size() > 100'000 ? names_.size() - 100'000 : 0;
  for (size_t i = names_.size(); i-- > last;) {
    if (names_[i].function.begin != row.address || names_[i].until_tsc != UINT64_MAX) continue;
    names_[i].until_tsc = row.tsc;
    return;
  }
}

void KernelNames::read_kallsyms(std::string_view text) {
  while (!text.empty() && names_.size() < kMostNames) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (auto function = parse_line(text.substr(0, end))) names_.push_back({std::move(*function), 0, UINT64_MAX});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void KernelNames::settle() {
  std::stable_sort(names_.begin(), names_.end(), [](const Name& a, const Name& b) {
    return std::tie(a.function.begin, a.from_tsc) < std::tie(b.function.begin, b.from_tsc);
  });
  uint64_t next = 0;
  for (size_t i = names_.size(); i-- > 0;) {
    Function& function = names_[i].function;
    if (i + 1 < names_.size() && names_[i + 1].function.begin != function.begin) next = names_[i + 1].function.begin;
    if (function.end == function.begin) function.end = next;  // of the last one, nothing is known
  }
}

FunctionExtent KernelNames::find(uint64_t address, uint64_t tsc) const {
  const auto next = std::upper_bound(names_.begin(), names_.end(), address,
                                     [](uint64_t value, const Name& name) { return value < name.function.begin; });
  FunctionExtent found{nullptr, 0, next == names_.end() ? UINT64_MAX : next->function.begin};
  size_t looked = 0;
  for (auto at = next; at != names_.begin() && looked < kMostOverlaps; ++looked) {
    const Name& name = *--at;
    if (address >= name.function.end) {
      found.begin = std::max(found.begin, name.function.end);
      continue;
    }
    found.begin = std::max(found.begin, name.function.begin);
    if (tsc != 0 && (tsc < name.from_tsc || tsc >= name.until_tsc)) continue;
    found.function = &name.function;
    found.end = std::min(found.end, name.function.end);
    break;
  }
  return found;
}

std::vector<const Function*> KernelNames::named(std::string_view name) const {
  std::vector<const Function*> found;
  for (const Name& one : names_) {
    if (means_function(name, one.function.name)) found.push_back(&one.function);
  }
  return found;
}

}  // namespace fathom::snapshot
