#include "snapshot/symbols/source_lines.h"

#include <dwarf.h>

#include <algorithm>
#include <set>

#include "snapshot/symbols/source_path.h"

namespace fathom::snapshot {
namespace {

constexpr size_t kMostUnitRanges = 4u << 20;
// Rows and files that are looked at for one line; units may share their tables, so that a small file has many.
constexpr uint64_t kMostLooks = 256u << 20;

std::optional<SourceLine> as_line(Dwarf_Die& unit, Dwarf_Line* line) {
  int number = 0;
  const char* file = dwarf_linesrc(line, nullptr, nullptr);
  if (file == nullptr || dwarf_lineno(line, &number) != 0 || number <= 0) return std::nullopt;
  return SourceLine{source_path(unit, file), static_cast<uint32_t>(number)};
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

bool is_of_line(Dwarf_Line* row, uint32_t line) {
  int number = 0;
  return dwarf_lineno(row, &number) == 0 && number > 0 && static_cast<uint32_t>(number) == line && !ends_sequence(row);
}

bool begins_statement(Dwarf_Line* row) {
  bool begins = false;
  return dwarf_linebeginstatement(row, &begins) == 0 && begins;
}

}  // namespace

bool SourceLines::WantedLine::is_of(std::string_view path) const {
  if (!path.ends_with(file)) return false;
  return path.size() == file.size() || path[path.size() - file.size() - 1] == '/' || file.starts_with('/');
}

SourceLines::SourceLines(const ElfFile& file) {
  if (!file.section(".debug_line") && !file.section(".zdebug_line")) return;
  dwarf_.reset(dwarf_begin_elf(file.elf(), DWARF_C_READ, nullptr));
  if (dwarf_ != nullptr) inlined_ = std::make_unique<InlinedCode>(dwarf_.get());
}

void SourceLines::index_unit(Dwarf_Die& die) {
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t next = 0;
  while (ranges_++ < kMostUnitRanges && (next = dwarf_ranges(&die, next, &base, &begin, &end)) > 0) {
    // What the linker threw away lies at 0.
    if (begin < end && begin != 0) units_.push_back({begin, end, dwarf_dieoffset(&die)});
  }
}

void SourceLines::index_units() {
  indexed_ = true;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die{};
  uint8_t kind = 0;
  while (ranges_ < kMostUnitRanges && dwarf_get_units(dwarf_.get(), unit, &unit, nullptr, &kind, &die, nullptr) == 0) {
    if (kind == DW_UT_compile) index_unit(die);
  }
  std::sort(units_.begin(), units_.end(), [](const Unit& a, const Unit& b) { return a.begin < b.begin; });
}

const SourceLines::Unit* SourceLines::unit_at(uint64_t address) {
  if (!available()) return nullptr;
  if (!indexed_) index_units();
  auto next = std::upper_bound(units_.begin(), units_.end(), address,
                               [](uint64_t value, const Unit& unit) { return value < unit.begin; });
  if (next == units_.begin()) return nullptr;
  const Unit& unit = *(next - 1);
  return address < unit.end ? &unit : nullptr;
}

SourceLines::Rows SourceLines::rows_of(Dwarf_Off at) const {
  Rows rows;
  if (dwarf_offdie(dwarf_.get(), at, &rows.unit) == nullptr) return {};
  if (dwarf_getsrclines(&rows.unit, &rows.lines, &rows.count) != 0) return {};
  return rows;
}

std::optional<SourceLine> SourceLines::line_in(Rows& rows, uint64_t address) {
  Dwarf_Line* row = row_at(rows.lines, rows.count, address);
  if (row == nullptr || ends_sequence(row)) return std::nullopt;
  return as_line(rows.unit, row);
}

std::optional<SourceLine> SourceLines::line_at(Dwarf_Off unit, uint64_t address) const {
  Rows rows = rows_of(unit);
  return line_in(rows, address);
}

std::optional<SourceLine> SourceLines::find(uint64_t address) {
  const Unit* unit = unit_at(address);
  return unit == nullptr ? std::nullopt : line_at(unit->die, address);
}

std::optional<SourceLine> SourceLines::find_own(uint64_t address) {
  const Unit* unit = unit_at(address);
  if (unit == nullptr) return std::nullopt;
  InlinedCode::Call call;
  if (inlined_->outermost(unit->die, address, call)) return SourceLine{std::move(call.file), call.line};
  return line_at(unit->die, address);
}

std::vector<SourceFrame> SourceLines::frames(uint64_t address) {
  const Unit* unit = unit_at(address);
  auto line = unit == nullptr ? std::nullopt : line_at(unit->die, address);
  if (!line) return {};
  std::vector<SourceFrame> frames;
  for (InlinedCode::Call& call : inlined_->calls_at(unit->die, address)) {
    frames.push_back({inlined_->name_of(call.callee), std::move(*line)});
    line = SourceLine{std::move(call.file), call.line};
  }
  frames.push_back({"", std::move(*line)});
  return frames;
}

// Reading a unit's functions takes longer than reading its list of files.
template <typename Matches>
bool SourceLines::has_file(Dwarf_Off at, uint64_t& looks, const Matches& matches) const {
  Dwarf_Die die{};
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_offdie(dwarf_.get(), at, &die) == nullptr || dwarf_getsrcfiles(&die, &files, &count) != 0) return false;
  for (size_t i = 0; i < count && looks++ < kMostLooks; ++i) {
    const char* path = dwarf_filesrc(files, i, nullptr, nullptr);
    if (path != nullptr && matches(source_path(die, path))) return true;
  }
  return false;
}

void SourceLines::add_begins(Dwarf_Off unit, WantedLine& wanted, bool statements, std::vector<uint64_t>& found) const {
  Rows rows = rows_of(unit);
  for (size_t i = 0; i < rows.count && wanted.looks++ < kMostLooks; ++i) {
    Dwarf_Line* row = dwarf_onesrcline(rows.lines, i);
    Dwarf_Addr address = 0;
    if (!is_of_line(row, wanted.line) || (statements && !begins_statement(row)) || dwarf_lineaddr(row, &address) != 0)
      continue;
    const auto told = line_in(rows, address);
    if (told && wanted.is(told->file, told->line)) found.push_back(address);
  }
}

std::vector<uint64_t> SourceLines::addresses(std::string_view file, uint32_t line) {
  std::vector<uint64_t> found;
  if (!available()) return found;
  if (!indexed_) index_units();
  WantedLine wanted{file, line};
  std::set<Dwarf_Off> units;
  for (const Unit& unit : units_) units.insert(unit.die);
  for (const bool statements : {true, false}) {
    for (const Dwarf_Off unit : units) add_begins(unit, wanted, statements, found);
    if (!found.empty()) break;
  }
  const auto called_here = [&](const InlinedCode::Call& call) { return wanted.is(call.file, call.line); };
  for (auto unit = units.begin(); found.empty() && unit != units.end(); ++unit) {
    const bool is_named = has_file(*unit, wanted.looks, [&](std::string_view path) { return wanted.is_of(path); });
    if (is_named) found = inlined_->begins_of(*unit, called_here);
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool SourceLines::names(std::string_view file) {
  if (!available()) return false;
  if (!indexed_) index_units();
  uint64_t looks = 0;
  std::set<Dwarf_Off> units;
  for (const Unit& unit : units_) units.insert(unit.die);
  return std::ranges::any_of(units, [&](Dwarf_Off unit) {
    return has_file(unit, looks, [&](std::string_view path) { return path == file; });
  });
}

}  // namespace fathom::snapshot
