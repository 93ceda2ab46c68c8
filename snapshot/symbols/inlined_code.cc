#include "snapshot/symbols/inlined_code.h"

#include <dwarf.h>

#include <algorithm>
#include <set>

#include "snapshot/symbols/demangle.h"
#include "snapshot/symbols/source_path.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kMostWork = 32u << 20;        // some seconds
constexpr size_t kMostInlinedRanges = 1u << 20;  // of a unit's functions, or a function's copies
constexpr size_t kMostKeptCopies = 1u << 20;
constexpr size_t kMostDepth = 64;

bool is_type(int tag) {
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

uint64_t number_of(Dwarf_Die& die, unsigned int name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  const bool known = dwarf_attr(&die, name, &attribute) != nullptr && dwarf_formudata(&attribute, &value) == 0;
  return known ? value : 0;
}

const char* text_of(Dwarf_Die& die, unsigned int name) {
  Dwarf_Attribute attribute;
  return dwarf_attr_integrate(&die, name, &attribute) == nullptr ? nullptr : dwarf_formstring(&attribute);
}

}  // namespace

// One pass over entries, whose depth and number are bounded.
class InlinedCode::Walk {
 public:
  explicit Walk(uint64_t& work) : work_(work) {}

  // Functions with code. Types hold declarations only, but for those within functions.
  void find_functions(Dwarf_Die& parent, bool in_function, size_t depth, std::vector<Extent>& found) {
    for_children(parent, depth, [&](Dwarf_Die& die, int tag) {
      const bool is_function = tag == DW_TAG_subprogram;
      if (is_function) {
        for_ranges(die, [&](uint64_t begin, uint64_t end) { found.push_back({begin, end, dwarf_dieoffset(&die)}); });
      }
      const bool may_hold = is_function || tag == DW_TAG_namespace || tag == DW_TAG_module ||
                            (in_function && (tag == DW_TAG_lexical_block || is_type(tag)));
      if (may_hold) find_functions(die, in_function || is_function, depth + 1, found);
    });
  }

  // Inner copies cover the outer ones that they are in.
  void find_copies(Dwarf_Die& parent, uint32_t around, size_t depth, Function& function,
                   std::map<uint64_t, uint32_t>& painted) {
    for_children(parent, depth, [&](Dwarf_Die& die, int tag) {
      uint32_t here = around;
      if (tag == DW_TAG_inlined_subroutine) {
        here = static_cast<uint32_t>(function.copies.size());
        function.copies.push_back({dwarf_dieoffset(&die), around});
        for_ranges(die, [&](uint64_t begin, uint64_t end) { paint(painted, begin, end, here); });
      }
      const bool goes_on =
          here != around || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
      if (goes_on) find_copies(die, here, depth + 1, function, painted);
    });
  }

 private:
  template <typename Take>
  void for_children(Dwarf_Die& parent, size_t depth, const Take& take) {
    Dwarf_Die die;
    if (depth > kMostDepth || dwarf_child(&parent, &die) != 0) return;
    do {
      if (++work_ > kMostWork) return;
      take(die, dwarf_tag(&die));
    } while (dwarf_siblingof(&die, &die) == 0);
  }

  // What the linker threw away lies at 0.
  template <typename Take>
  void for_ranges(Dwarf_Die& die, const Take& take) {
    Dwarf_Addr base = 0;
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    ptrdiff_t next = 0;
    while (++work_ <= kMostWork && ranges_++ < kMostInlinedRanges &&
           (next = dwarf_ranges(&die, next, &base, &begin, &end)) > 0) {
      if (begin < end && begin != 0) take(begin, end);
    }
  }

  static void paint(std::map<uint64_t, uint32_t>& painted, uint64_t begin, uint64_t end, uint32_t copy) {
    const auto behind = painted.upper_bound(end);
    const uint32_t after = behind == painted.begin() ? kNone : std::prev(behind)->second;
    painted.erase(painted.lower_bound(begin), behind);
    painted[begin] = copy;
    painted[end] = after;
  }

  uint64_t& work_;
  size_t ranges_ = 0;
};

const std::vector<InlinedCode::Extent>& InlinedCode::functions_of(Dwarf_Off unit) {
  const auto [at, fresh] = units_.try_emplace(unit);
  Dwarf_Die die;
  if (!fresh || work_ > kMostWork || dwarf_offdie(dwarf_, unit, &die) == nullptr) return at->second;
  Walk(work_).find_functions(die, false, 0, at->second);
  std::ranges::sort(at->second, {}, &Extent::begin);
  return at->second;
}

const InlinedCode::Extent* InlinedCode::function_extent(Dwarf_Off unit, uint64_t address) {
  const std::vector<Extent>& functions = functions_of(unit);
  const auto next = std::ranges::upper_bound(functions, address, {}, &Extent::begin);
  return next == functions.begin() || address >= (next - 1)->end ? nullptr : &*(next - 1);
}

const InlinedCode::Function* InlinedCode::function_around(Dwarf_Off unit, uint64_t address) {
  const Extent* extent = function_extent(unit, address);
  if (extent == nullptr) return nullptr;
  if (kept_copies_ > kMostKeptCopies) {
    functions_.clear();
    kept_copies_ = 0;
  }
  const auto [at, fresh] = functions_.try_emplace(extent->die);
  Dwarf_Die die;
  if (!fresh || work_ > kMostWork || dwarf_offdie(dwarf_, extent->die, &die) == nullptr) return &at->second;
  std::map<uint64_t, uint32_t> painted;
  Walk(work_).find_copies(die, kNone, 0, at->second, painted);
  at->second.innermost.assign(painted.begin(), painted.end());
  kept_copies_ += at->second.copies.size() + at->second.innermost.size() + 1;
  return &at->second;
}

uint32_t InlinedCode::innermost_at(const Function& function, uint64_t address) const {
  const auto next = std::ranges::upper_bound(function.innermost, address, {}, &std::pair<uint64_t, uint32_t>::first);
  return next == function.innermost.begin() ? kNone : (next - 1)->second;
}

InlinedCode::Call InlinedCode::call_of(Dwarf_Off unit, const Copy& copy) const {
  Call call{copy.die, "", 0};
  Dwarf_Die die;
  Dwarf_Die unit_die;
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_offdie(dwarf_, copy.die, &die) == nullptr || dwarf_offdie(dwarf_, unit, &unit_die) == nullptr) return call;
  if (dwarf_getsrcfiles(&unit_die, &files, &count) != 0) return call;
  const uint64_t file = number_of(die, DW_AT_call_file);
  const uint64_t line = number_of(die, DW_AT_call_line);
  const char* name = file < count ? dwarf_filesrc(files, file, nullptr, nullptr) : nullptr;
  if (name == nullptr || line == 0 || line > UINT32_MAX) return call;
  call.file = source_path(unit_die, name);
  call.line = static_cast<uint32_t>(line);
  return call;
}

std::vector<InlinedCode::Call> InlinedCode::calls_at(Dwarf_Off unit, uint64_t address) {
  std::vector<Call> calls;
  const Function* function = function_around(unit, address);
  if (function == nullptr) return calls;
  uint32_t at = innermost_at(*function, address);
  for (; at != kNone; at = function->copies[at].parent) calls.push_back(call_of(unit, function->copies[at]));
  return calls;
}

bool InlinedCode::outermost(Dwarf_Off unit, uint64_t address, Call& call) {
  const Function* function = function_around(unit, address);
  uint32_t at = function == nullptr ? kNone : innermost_at(*function, address);
  if (at == kNone) return false;
  while (function->copies[at].parent != kNone) at = function->copies[at].parent;
  call = call_of(unit, function->copies[at]);
  return call.line != 0;
}

std::vector<uint64_t> InlinedCode::begins_of(Dwarf_Off unit, const std::function<bool(const Call& call)>& wanted) {
  std::vector<uint64_t> begins;
  const std::vector<Extent>& functions = functions_of(unit);
  std::set<Dwarf_Off> seen;  // a function may lie in several pieces
  for (const Extent& extent : functions) {
    if (!seen.insert(extent.die).second) continue;
    const Function* function = function_around(unit, extent.begin);
    if (function == nullptr) continue;
    std::vector<bool> open;  // copies that are wanted, and did not begin yet
    for (const Copy& copy : function->copies) open.push_back(wanted(call_of(unit, copy)));
    for (const auto& [begin, innermost] : function->innermost) {
      for (uint32_t at = innermost; at != kNone; at = function->copies[at].parent) {
        if (!open[at]) continue;
        begins.push_back(begin);
        open[at] = false;
      }
    }
  }
  return begins;
}

std::string InlinedCode::name_of(Dwarf_Off at) const {
  Dwarf_Die die;
  if (dwarf_offdie(dwarf_, at, &die) == nullptr) return "";
  const char* name = text_of(die, DW_AT_linkage_name);
  if (name == nullptr) name = text_of(die, DW_AT_MIPS_linkage_name);
  if (name != nullptr) return demangled(name);
  name = dwarf_diename(&die);
  return name == nullptr ? "" : name;
}

}  // namespace fathom::snapshot
