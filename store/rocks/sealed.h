// Reading what is sealed: chunks of a segment's columns, directories and resources (cached), and the trace index.
//
// Thread safety: SealedReader is for one query on one thread; the caches for all. Ownership: results own their
// memory. Errors: kCorrupt for damage; a segment whose partition was dropped meanwhile reads as kNotFound.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "store/block/segment_reader.h"
#include "store/rocks/database.h"
#include "store/rocks/grown.h"
#include "store/rocks/live_partitions.h"
#include "store/rocks/oversized_traces.h"
#include "store/rocks/trace_rows.h"
#include "store/rocks/trace_tally.h"
#include "store/rocks/view.h"

namespace fathom::store {

// Decoded parts of segments, the least recently used thrown away beyond a number of bytes.
template <typename Part>
class SegmentCache {
 public:
  using PartPtr = std::shared_ptr<const Part>;
  explicit SegmentCache(size_t bytes) : limit_(bytes) {}
  PartPtr find(uint32_t segment, uint32_t number = 0);
  void insert(uint32_t segment, uint32_t number, PartPtr part);

 private:
  using Key = uint64_t;  // segment << 32 | number
  using Entry = std::pair<Key, PartPtr>;
  std::mutex mutex_;
  const size_t limit_;
  size_t bytes_ = 0;
  std::list<Entry> recent_;
  std::unordered_map<Key, typename std::list<Entry>::iterator> index_;
};

using DirectoryCache = SegmentCache<SegmentDirectory>;
using SharedPageCache = SegmentCache<block::SharedPage>;

// What the part of an oversized trace adds to its summary, so that its rows need not be read again.
struct PartTallies {
  uint32_t first_partition = 0;  // the oldest that `whole` counts rows of: `whole` is outdated once it is dropped
  TraceTally whole;              // of this and all earlier parts
  TraceTally own;                // of this part alone
};

// One segment's part of a trace, as the trace index has it.
struct TracePart {
  uint32_t partition = 0;
  uint32_t segment = 0;
  uint32_t first_block = 0;
  TraceSummary summary;                // cumulative over this and earlier parts
  std::optional<PartTallies> tallies;  // of oversized traces; parts that were sealed before the trace was one lack them
};

// Where its rows are; the reader stays valid until the segment is closed.
struct LocatedPart {
  SegmentReader* reader = nullptr;
  std::vector<RowRange> ranges;
};

TraceRow trace_row(const StoredRow& row);
TraceRow trace_row(const BlockIds& ids, const BlockTimes& times, size_t row);

std::string encode_trace_part(const TracePart& part);
// Without the place, which stands in the key.
Result<TracePart> decode_trace_part_value(std::string_view value);
// Where a segment keeps its directory: behind all of its chunks.
std::string directory_key(uint32_t partition, uint32_t segment);

std::string grown_key(uint32_t partition, uint32_t segment);

struct SealedContext {
  Database& database;
  const LivePartitions& live;
  DirectoryCache& directories;
  SharedPageCache& shared_pages;
  OversizedTraces& oversized;
  OversizedLimits limits;
};

class SealedReader {
 public:
  SealedReader(const SealedContext& context, ViewPtr view, QueryBudget& budget);
  ~SealedReader();

  // Oldest first; empty when no live segment holds the trace. An oversized trace may have a part in every segment: use
  // newest_part() or visit_parts().
  Result<std::vector<TracePart>> parts(const TraceId& id);
  Result<std::optional<TracePart>> newest_part(const TraceId& id);
  // Newest first, until `visit` returns false.
  using VisitPart = std::function<Result<bool>(const TracePart&)>;
  Result<> visit_parts(const TraceId& id, const VisitPart& visit);
  // The oldest part that lies in `segment` of `partition` or behind it. Segments have numbers above 0.
  Result<std::optional<TracePart>> part_from(const TraceId& id, uint32_t partition, uint32_t segment);
  // Those that have parts, ascending, the first `most` of them.
  Result<std::vector<TraceId>> trace_ids(const TraceIdRange& range, size_t most);
  // The segment's columns. The pointer stays valid until close().
  Result<SegmentReader*> segment(uint32_t partition, uint32_t segment);
  // Also kNotFound if the segment has no spans.
  Result<SegmentReader*> segment(const SegmentInfo& info);
  Result<GrownTraces> grown(const SegmentInfo& info);
  // Forgets what was decoded of a segment; pointers to its reader become invalid.
  void close(uint32_t segment);
  Result<LocatedPart> locate(const TraceId& id, const TracePart& part);
  // The light rows of one part of a trace.
  Result<std::vector<TraceRow>> rows(const TraceId& id, const TracePart& part);

  QueryBudget& budget() { return budget_; }
  const View& view() const { return *view_; }
  uint32_t oldest_partition() const { return context_.live.oldest(); }
  bool is_live(uint32_t partition) const { return context_.live.is_live(partition); }
  OversizedTraces& oversized() { return context_.oversized; }
  const OversizedLimits& limits() const { return context_.limits; }

 private:
  class Source;
  static Result<> check_has_spans(const SegmentInfo& info);
  rocksdb::Iterator& trace_index();
  Result<TracePart> part_here();
  rocksdb::ReadOptions read_options() const;
  Result<SegmentDirectoryPtr> directory(uint32_t partition, uint32_t segment);

  SealedContext context_;
  ViewPtr view_;
  QueryBudget& budget_;
  std::unique_ptr<rocksdb::Iterator> trace_index_;
  struct Open;
  std::unordered_map<uint32_t, std::unique_ptr<Open>> open_;
};

}  // namespace fathom::store
