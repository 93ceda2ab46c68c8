// Reading what is sealed: chunks of a segment's columns, directories and resources (cached), and the trace index.
//
// Thread safety: SealedReader is for one query on one thread; the caches for all. Ownership: results own their
// memory. Errors: kCorrupt for damage; a segment whose partition was dropped meanwhile reads as kNotFound.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "store/block/segment_reader.h"
#include "store/rocks/database.h"
#include "store/rocks/grown.h"
#include "store/rocks/live_partitions.h"
#include "store/rocks/trace_rows.h"
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

// One segment's part of a trace, as the trace index has it.
struct TracePart {
  uint32_t partition = 0;
  uint32_t segment = 0;
  uint32_t first_block = 0;
  TraceSummary summary;  // cumulative over this and earlier parts
};

// Where its rows are; the reader stays valid until the segment is closed.
struct LocatedPart {
  SegmentReader* reader = nullptr;
  std::vector<RowRange> ranges;
};

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
};

class SealedReader {
 public:
  SealedReader(const SealedContext& context, ViewPtr view, QueryBudget& budget);
  ~SealedReader();

  // Oldest first; empty when no live segment holds the trace.
  Result<std::vector<TracePart>> parts(const TraceId& id);
  // Those that have parts, ascending, the first `most` of them.
  Result<std::vector<TraceId>> trace_ids(const TraceIdRange& range, size_t most);
  // The segment's columns. The pointer stays valid until close().
  Result<SegmentReader*> segment(uint32_t partition, uint32_t segment);
  Result<SegmentReader*> segment(const SegmentInfo& info) { return segment(info.partition, info.id); }
  Result<GrownTraces> grown(const SegmentInfo& info);
  // Forgets what was decoded of a segment; pointers to its reader become invalid.
  void close(uint32_t segment);
  Result<LocatedPart> locate(const TraceId& id, const TracePart& part);
  // The light rows of one part of a trace.
  Result<std::vector<TraceRow>> rows(const TraceId& id, const TracePart& part);

  QueryBudget& budget() { return budget_; }
  const View& view() const { return *view_; }

 private:
  class Source;
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
