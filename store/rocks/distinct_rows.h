// DistinctRows: what the distinct rows of one trace add up to, extended row by row.
//
// Purpose: only the number of distinct rows decides whether a trace is oversized (span_store.h). A trace whose spans
// are sent again and again has many more rows. A query must not read all of them to find nothing new, so these sums
// are kept between queries (DistinctRowsCache), and a query adds the rows that arrived since (DistinctRowsReader).
// Thread safety: DistinctRowsCache from any thread; a DistinctRows and a reader belong to one thread at a time.
// Ownership: a query takes a DistinctRows out of the cache, and gives it back when it is up to date. Memory: a
// DistinctRows has at most as many rows as the limit of oversized traces; the cache is bounded in bytes.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "base/ids.h"
#include "base/result.h"
#include "store/rocks/trace_tally.h"

namespace fathom::store {

class Generation;
class SealedReader;
struct TracePart;

class DistinctRows {
 public:
  // The sealed rows that were added: those of all live parts up to this one.
  struct Sealed {
    uint32_t segment = 0;  // of the newest part; 0: the trace has none
    uint32_t oldest_partition = 0;
    bool operator==(const Sealed&) const = default;
  };
  // The rows of one generation that were added.
  struct Place {
    uint64_t generation = 0;  // sequence of its first batch
    uint32_t rows = 0;
    uint32_t last_row = 0;
  };

  DistinctRows(const Sealed& sealed, bool has_contents) : sealed_(sealed), has_contents_(has_contents) {}

  // Rows are added in the order of reception, and with the hashes of their contents if `has_contents`. Returns false,
  // and adds nothing, if only the contents tell whether the row is a repeated one.
  bool add(const TraceRow& row, uint64_t content_hash);
  Place& place_in(uint64_t generation);

  const Sealed& sealed() const { return sealed_; }
  bool has_contents() const { return has_contents_; }
  const std::vector<Place>& places() const { return places_; }
  uint64_t rows() const { return tally_.spans; }
  uint64_t last_sequence() const { return last_sequence_; }
  // Not without rows.
  TraceSummary summary() const;
  uint64_t memory_bytes() const;

 private:
  const Sealed sealed_;
  const bool has_contents_;
  boost::unordered_flat_map<SpanId, uint64_t, IdHash> first_contents_;  // hashes; 0 without contents
  boost::unordered_flat_set<uint64_t> other_contents_;                  // of ids with several contents
  boost::unordered_flat_set<SpanId, IdHash> missing_;                   // parents
  TraceTally tally_;
  uint64_t last_sequence_ = 0;
  std::vector<Place> places_;
};
using DistinctRowsPtr = std::unique_ptr<DistinctRows>;

// The most recently used ones.
class DistinctRowsCache {
 public:
  static constexpr uint64_t kMaxBytes = 32 << 20;

  explicit DistinctRowsCache(uint64_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  // Null if there is none, or if another query has it.
  DistinctRowsPtr take(const TraceId& id);
  void put(const TraceId& id, DistinctRowsPtr rows);
  uint64_t memory_bytes() const;

 private:
  struct Entry {
    TraceId id;
    DistinctRowsPtr rows;
    uint64_t bytes;
  };
  void remove(std::list<Entry>::iterator entry);

  mutable std::mutex mutex_;
  const uint64_t max_bytes_;
  uint64_t bytes_ = 0;
  std::list<Entry> recent_;
  boost::unordered_flat_map<TraceId, std::list<Entry>::iterator, IdHash> index_;
};

class DistinctRowsReader {
 public:
  struct Answer {
    bool passes_limit = false;            // of all rows
    std::optional<TraceSummary> summary;  // of the rows up to `last_sequence`; empty: not known
  };

  explicit DistinctRowsReader(SealedReader& sealed) : sealed_(sealed) {}
  // Errors: as SealedReader's, and kExhausted.
  Result<Answer> read(const TraceId& id, uint64_t last_sequence);

 private:
  enum class Step { kMore, kEnd, kNeedsContents };

  Result<DistinctRowsPtr> open(const TraceId& id);
  Result<DistinctRowsPtr> make(const TraceId& id, const DistinctRows::Sealed& sealed, bool has_contents);
  bool has_places(const TraceId& id, const DistinctRows& rows) const;
  Result<> update(const TraceId& id, uint64_t last_sequence, DistinctRowsPtr& rows);
  // False: the contents of the rows are necessary.
  Result<bool> add_part(const TraceId& id, const TracePart& part, DistinctRows& rows);
  Result<bool> add_contents(const TraceId& id, const TracePart& part, DistinctRows& rows);
  Result<bool> add_unsealed(const TraceId& id, uint64_t last_sequence, DistinctRows& rows);
  Step add_some(const Generation& generation, const TraceId& id, uint64_t last_sequence, DistinctRows& rows,
                uint64_t& bytes) const;
  bool passes_limit(const DistinctRows& rows) const;

  SealedReader& sealed_;
};

}  // namespace fathom::store
