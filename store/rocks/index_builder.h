// IndexBuilder: a segment's contributions to the lists of the slowest and to the latency cells.
//
// Purpose: spans and traces go in once, per operation and minute; services, everything and hours are merged from those,
// so that a row costs one look-up. The results are merge operands, ready to be written in key order. Thread safety: one
// thread. Ownership: owns what it gathers.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/index/latency_cell.h"
#include "store/index/slow_list.h"
#include "store/rocks/catalogue.h"
#include "store/rocks/keys.h"

namespace fathom::store {

class IndexBuilder {
 public:
  IndexBuilder(uint32_t partition, const Catalogue& catalogue) : partition_(partition), catalogue_(catalogue) {}

  void add_span(uint32_t operation, const SlowEntry& entry);
  // A trace, once for each operation that any of its spans has.
  void add_trace(uint32_t operation, const SlowEntry& entry);
  // A span's latency; apart from add_span() because equal rows collapse there but count here.
  void add_latency(uint32_t operation, uint64_t start_unix_nano, uint64_t duration_nano, bool error);

  // Operands by key, ascending.
  std::map<std::string, std::string> slow_operands() const;
  std::map<std::string, std::string> latency_operands() const;

 private:
  using CellKey = uint64_t;  // operation << 32 | minute
  using Cells = std::unordered_map<CellKey, SlowList>;

  void roll_up(By by, const Cells& cells, std::map<std::string, SlowList>& lists) const;

  const uint32_t partition_;
  const Catalogue& catalogue_;
  Cells spans_;
  Cells traces_;
  std::unordered_map<CellKey, LatencyCell> latency_;
};

}  // namespace fathom::store
