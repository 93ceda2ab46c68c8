#include "snapshot/symbols/source_lines.h"

#include <dwarf.h>

#include <algorithm>
#include <set>

namespace fathom::snapshot {
namespace {

constexpr size_t kMostRanges = 4u << 20;

std::optional<SourceLine> as_line(Dwarf_Line* line) {
  int number = 0;
  const char* file = dwarf_linesrc(line, nullptr, nullptr);
  if (file == nullptr || dwarf_lineno(line, &number) != 0 || number <= 0) return std::nullopt;
  return SourceLine{file, static_cast<uint32_t>(number)};
}

bool begins_after(Dwarf_Line* line, uint64_t address) {
  Dwarf_Addr begin = 0;
  return dwarf_lineaddr(line, &begin) != 0 || begin > address;
}

bool ends_sequence(Dwarf_Line* line) {
  bool ends = true;
  return dwarf_lineendsequence(line, &ends) != 0 || ends;
}

// The last row that begins at or before the address. libdw sorts rows by address.
Dwarf_Line* row_at(Dwarf_Lines* lines, size_t count, uint64_t address) {
  size_t low = 0;
  size_t high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (begins_after(dwarf_onesrcline(lines, middle), address)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low == 0 ? nullptr : dwarf_onesrcline(lines, low - 1);
}

bool is_file(std::string_view path, std::string_view wanted) {
  if (!path.ends_with(wanted)) return false;
  return path.size() == wanted.size() || path[path.size() - wanted.size() - 1] == '/' || wanted.starts_with('/');
}

bool is_statement_of(Dwarf_Line* row, std::string_view file, uint32_t line) {
  int number = 0;
  bool begins = false;
  if (dwarf_lineno(row, &number) != 0 || number <= 0 || static_cast<uint32_t>(number) != line) return false;
  if (ends_sequence(row) || dwarf_linebeginstatement(row, &begins) != 0 || !begins) return false;
  const char* path = dwarf_linesrc(row, nullptr, nullptr);
  return path != nullptr && is_file(path, file);
}

}  // namespace

SourceLines::SourceLines(const ElfFile& file) {
  if (!file.section(".debug_line") && !file.section(".zdebug_line")) return;
  dwarf_.reset(dwarf_begin_elf(file.elf(), DWARF_C_READ, nullptr));
}

void SourceLines::index_unit(Dwarf_Die& die) {
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t next = 0;
  while (units_.size() < kMostRanges && (next = dwarf_ranges(&die, next, &base, &begin, &end)) > 0) {
    // What the linker threw away lies at 0.
    if (begin < end && begin != 0) units_.push_back({begin, end, dwarf_dieoffset(&die)});
  }
}

void SourceLines::index_units() {
  indexed_ = true;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die{};
  uint8_t kind = 0;
  while (units_.size() < kMostRanges &&
         dwarf_get_units(dwarf_.get(), unit, &unit, nullptr, &kind, &die, nullptr) == 0) {
    if (kind == DW_UT_compile) index_unit(die);
  }
  std::sort(units_.begin(), units_.end(), [](const Unit& a, const Unit& b) { return a.begin < b.begin; });
}

const SourceLines::Unit* SourceLines::unit_at(uint64_t address) const {
  auto next = std::upper_bound(units_.begin(), units_.end(), address,
                               [](uint64_t value, const Unit& unit) { return value < unit.begin; });
  if (next == units_.begin()) return nullptr;
  const Unit& unit = *(next - 1);
  return address < unit.end ? &unit : nullptr;
}

SourceLines::Rows SourceLines::rows_of(Dwarf_Off at) const {
  Dwarf_Die die{};
  Rows rows;
  if (dwarf_offdie(dwarf_.get(), at, &die) == nullptr) return {};
  if (dwarf_getsrclines(&die, &rows.lines, &rows.count) != 0) return {};
  return rows;
}

std::optional<SourceLine> SourceLines::find(uint64_t address) {
  if (!available()) return std::nullopt;
  if (!indexed_) index_units();
  const Unit* unit = unit_at(address);
  if (unit == nullptr) return std::nullopt;
  const Rows rows = rows_of(unit->die);
  Dwarf_Line* row = row_at(rows.lines, rows.count, address);
  if (row == nullptr || ends_sequence(row)) return std::nullopt;
  return as_line(row);
}

std::vector<uint64_t> SourceLines::addresses(std::string_view file, uint32_t line) {
  std::vector<uint64_t> found;
  if (!available()) return found;
  if (!indexed_) index_units();
  std::set<Dwarf_Off> units;
  for (const Unit& unit : units_) units.insert(unit.die);
  for (const Dwarf_Off unit : units) {
    const Rows rows = rows_of(unit);
    for (size_t i = 0; i < rows.count; ++i) {
      Dwarf_Line* row = dwarf_onesrcline(rows.lines, i);
      Dwarf_Addr address = 0;
      if (is_statement_of(row, file, line) && dwarf_lineaddr(row, &address) == 0) found.push_back(address);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace fathom::snapshot
