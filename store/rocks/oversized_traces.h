// OversizedTraces: the traces of the store that are known to be oversized (span_store.h).
//
// Purpose: no list of the slowest names an oversized trace, and no search takes one from a block, because both would
// have to be written again for all of it with every segment. Searches take them from here. A trace is entered when a
// segment with a part of it is sealed, or when a query finds that its unsealed rows pass the limit. Of a trace with
// more rows than the limit that repeat each other, what queries found is kept, too (distinct_rows.h). Thread safety:
// all of it. Ownership: readers share an immutable map. Errors: none.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/ids.h"
#include "store/rocks/distinct_rows.h"
#include "store/rocks/trace_tally.h"

namespace fathom::store {

struct OversizedLimits {
  uint64_t spans = 131'072;  // a trace with more stored spans is oversized,
  uint32_t segments = 256;   // as is one whose spans lie in more segments.
  // Older rows of all growing traces that sealing one segment should read again. Beyond that, a trace with more than
  // its share is oversized, too. Each segment in which a trace has spans counts as eight rows.
  uint64_t reread_rows = 4'194'304;
  // While more traces are oversized, a trace is not because of `reread_rows`: each takes memory, and time of queries.
  size_t reread_traces = 65'536;
};

class OversizedTraces {
 public:
  // The tally of all sealed rows while the newest part lacks one: it was sealed before the trace was oversized.
  struct Sealed {
    uint32_t segment = 0;           // of that part
    uint32_t oldest_partition = 0;  // that was live
    TraceTally tally;
  };
  struct Entry {
    TraceSummary summary;
    uint64_t last_sequence = UINT64_MAX;  // rows that were received later are not in the summary; the greatest: unknown
    Sealed sealed = {};
    bool is_known() const { return last_sequence != UINT64_MAX; }
  };
  using Map = std::unordered_map<TraceId, Entry, IdHash>;

  std::shared_ptr<const Map> get() const {
    std::lock_guard lock(mutex_);
    return traces_;
  }
  bool contains(const TraceId& id) const { return get()->contains(id); }
  DistinctRowsCache& distinct_rows() { return distinct_rows_; }

  // Nothing: what is known is of another part, or from before retention dropped partitions.
  std::optional<TraceTally> sealed_tally(const TraceId& id, uint32_t segment, uint32_t oldest_partition) const {
    const std::shared_ptr<const Map> all = get();
    auto found = all->find(id);
    if (found == all->end()) return std::nullopt;
    const Sealed& sealed = found->second.sealed;
    if (sealed.segment != segment || sealed.oldest_partition != oldest_partition) return std::nullopt;
    return sealed.tally;
  }

  // Adds these, or replaces what is known of them. A known summary stays if the new one is unknown.
  void note(const Map& traces) {
    if (traces.empty()) return;
    std::lock_guard lock(mutex_);
    auto all = std::make_shared<Map>(*traces_);
    for (const auto& [id, entry] : traces) {
      Entry& known = (*all)[id];
      if (entry.is_known() || !known.is_known()) {
        known = entry;
      } else if (entry.sealed.segment != 0) {
        known.sealed = entry.sealed;
      }
    }
    traces_ = std::move(all);
  }
  void replace(Map traces) {
    auto all = std::make_shared<const Map>(std::move(traces));
    std::lock_guard lock(mutex_);
    traces_ = std::move(all);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Map> traces_ = std::make_shared<const Map>();
  DistinctRowsCache distinct_rows_;
};

}  // namespace fathom::store
