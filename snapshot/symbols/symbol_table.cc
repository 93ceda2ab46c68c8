#include "snapshot/symbols/symbol_table.h"

#include <algorithm>
#include <tuple>

namespace fathom::snapshot {
namespace {

constexpr size_t kMostSymbols = 4u << 20;

// The one that gives its name comes last among those at one place.
bool goes_before(const Symbol& a, const Symbol& b) {
  return std::tie(a.begin, a.preference, b.name) < std::tie(b.begin, b.preference, a.name);
}

}  // namespace

bool SymbolTable::add(const Symbol& symbol) {
  if (symbols_.size() >= kMostSymbols) return false;
  if (symbol.begin < symbol.limit && symbol.begin <= symbol.end) symbols_.push_back(symbol);
  return true;
}

void SymbolTable::settle() {
  std::sort(symbols_.begin(), symbols_.end(), goes_before);
  give_sizes();
  cut();
}

void SymbolTable::give_sizes() {
  uint64_t next = UINT64_MAX;  // the first begin behind the one at hand
  for (size_t i = symbols_.size(); i-- > 0;) {
    Symbol& symbol = symbols_[i];
    if (i + 1 < symbols_.size() && symbols_[i + 1].begin != symbol.begin) next = symbols_[i + 1].begin;
    if (symbol.end == symbol.begin) symbol.end = next;
    symbol.end = std::min(symbol.end, symbol.limit);
  }
}

void SymbolTable::put(uint64_t begin, uint64_t end, uint32_t symbol) {
  if (begin >= end) return;
  if (!extents_.empty() && extents_.back().symbol == symbol && extents_.back().end == begin) {
    extents_.back().end = end;
  } else {
    extents_.push_back({symbol, begin, end});
  }
}

// What begins last covers what began before it, until it ends.
void SymbolTable::cut() {
  extents_.clear();
  std::vector<uint32_t> open;
  uint64_t at = 0;
  const auto run_to = [&](uint64_t until) {
    while (!open.empty() && at < until) {
      const uint64_t end = symbols_[open.back()].end;
      if (end <= at) {
        open.pop_back();
        continue;
      }
      put(at, std::min(end, until), open.back());
      at = std::min(end, until);
    }
    at = until;
  };
  for (uint32_t i = 0; i < symbols_.size(); ++i) {
    run_to(symbols_[i].begin);
    open.push_back(i);
  }
  run_to(UINT64_MAX);
}

SymbolTable::Extent SymbolTable::find(uint64_t offset) const {
  const auto next = std::upper_bound(extents_.begin(), extents_.end(), offset,
                                     [](uint64_t value, const Extent& extent) { return value < extent.begin; });
  Extent none;
  if (next != extents_.end()) none.end = next->begin;
  if (next == extents_.begin()) return none;
  const Extent& before = *(next - 1);
  if (offset < before.end) return before;
  none.begin = before.end;
  return none;
}

}  // namespace fathom::snapshot
