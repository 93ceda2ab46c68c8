// SegmentDirectory and SegmentReader: a sealed segment, read column by column (docs/formats/block.md).
//
// Purpose: the directory says what each block can hold (zone maps, Bloom filters, keys), so that most blocks are never
// read; the reader decodes just the columns that a question needs. Thread safety: a directory is immutable and may be
// shared and cached; a reader belongs to one query on one thread, and is cheap to make. Ownership: results own their
// memory; nothing points into a chunk after the call. What is decoded is
// charged to ChunkSource::hold(): for as long as a block is visited, a call lasts, or rows are owned. Units:
// nanoseconds; `start_unix_nano` is corrected time unless a SpanView carries it. Errors: whatever the ChunkSource
// answers, kExhausted, and kCorrupt: every byte is treated as hostile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "store/block/segment_writer.h"
#include "store/block/summary.h"
#include "store/query_budget.h"
#include "store/span.h"

namespace fathom::store {

// A chunk's bytes and whatever keeps them in place (a pinned cache entry, a string).
struct ChunkBytes {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};

namespace block {
class SharedPage;
}

// Which traces of a block may have an attribute: those that are slow (SegmentDirectory::slow_trace_nano), and others.
struct FilterHalves {
  bool slow = false;
  bool rest = false;
  bool any() const { return slow || rest; }
};
using SharedPagePtr = std::shared_ptr<const block::SharedPage>;

class ChunkSource {
 public:
  virtual ~ChunkSource() = default;
  // The chunk that encode_segment() made under these numbers. A reader asks for one chunk at most once per block visit.
  virtual Result<ChunkBytes> read(uint32_t block, uint32_t column) = 0;
  // A page of resources and scopes that an earlier reader of the segment decoded, or null; each reader asks once.
  virtual SharedPagePtr known_page(uint32_t) { return nullptr; }
  virtual void keep_page(uint32_t, const SharedPagePtr&) {}
  // Memory of the query that reads, charged before chunks are decoded. By default decoding is not charged.
  virtual HeldMemory hold() { return {}; }
};

// What can be said of a block without reading it. Bounds are inclusive.
struct BlockZone {
  uint32_t rows = 0;
  uint32_t traces = 0;
  uint64_t min_start_unix_nano = 0;  // of rows, corrected
  uint64_t max_start_unix_nano = 0;
  // Of the (cumulative) summaries of traces that are not oversized; without such traces the minimum is above the
  // maximum.
  uint64_t min_trace_start_unix_nano = 0;
  uint64_t max_trace_start_unix_nano = 0;
  uint64_t max_span_duration_nano = 0;
  uint64_t max_trace_duration_nano = 0;
  uint64_t min_sequence = 0;  // of rows
  uint64_t max_sequence = 0;
  bool errors = false;  // any row's status is an error
  bool events = false;  // any row has events, links, or an attribute without a column of its own
  bool links = false;
  bool rest = false;
  std::vector<uint32_t> operations;  // catalogue ids of its rows, ascending
  std::vector<uint32_t> columns;     // numbers of the keys that have a column here, ascending
};

class SegmentDirectory {
 public:
  // `memory`, when given, is charged before it is taken.
  static Result<std::shared_ptr<const SegmentDirectory>> open(std::string_view bytes, HeldMemory* memory = nullptr);
  ~SegmentDirectory();

  uint64_t rows() const;
  uint64_t traces() const;
  uint32_t block_count() const;
  const BlockZone& zone(uint32_t block) const;
  // False: no row has an attribute of this name, of its own or of its resource. True: perhaps.
  bool may_have_key(std::string_view key) const;
  // The traces that filters take for slow last as long as this at least, or a span of theirs does; the others and all
  // of their spans are shorter, as far as this segment and older ones know. 0: all are slow.
  uint64_t slow_trace_nano() const;
  // Of spans and resources, sorted; at most kMaxListedKeys.
  const std::vector<std::string>& attribute_keys() const;
  size_t memory_bytes() const;

  struct Parts;  // for the reader
  const Parts& parts() const { return *parts_; }

 private:
  explicit SegmentDirectory(std::unique_ptr<const Parts> parts);
  std::unique_ptr<const Parts> parts_;
};

using SegmentDirectoryPtr = std::shared_ptr<const SegmentDirectory>;

// The part of a trace that lies in one block.
struct BlockTrace {
  TraceId id;
  uint32_t first_row = 0;  // within the block
  uint32_t row_count = 0;
  TraceSummary summary;  // of the whole trace
};

// One entry per row.
struct BlockTimes {
  std::vector<uint64_t> start_unix_nano;  // corrected
  std::vector<uint64_t> duration_nano;
  std::vector<uint32_t> operation;
  std::vector<uint64_t> sequence;
  std::vector<uint8_t> error;  // 1: the status is an error
};

struct BlockIds {
  std::vector<SpanId> span;
  std::vector<SpanId> parent;
};

struct ValueRows {
  std::string value;  // as value_text() spells it
  uint64_t rows = 0;
};

// A question about single values. `name` tells it from others: what it found of a segment is kept under that.
struct ValueTest {
  std::string name;
  std::function<bool(const ValueView&)> passes;
};

struct StoredRow {
  SpanView span;
  ResourceView resource;
  ScopeView scope;
  std::optional<ClockOffset> clock;
  uint64_t sequence = 0;
  uint32_t operation = 0;
  bool conflicting = false;
};

struct StoredRows {
  std::vector<StoredRow> rows;
  std::shared_ptr<const void> owner;  // keeps what the rows' views point into, and its memory charged
  HeldMemory memory;                  // of `rows`
};

struct RowRange {
  uint32_t block = 0;
  uint32_t first_row = 0;
  uint32_t row_count = 0;
};

class SegmentReader {
 public:
  SegmentReader(SegmentDirectoryPtr directory, ChunkSource& source);
  ~SegmentReader();

  const SegmentDirectory& directory() const;

  // False: no row of such traces has this attribute, of its own or of its resource. True: perhaps.
  Result<FilterHalves> may_contain(uint32_t block, std::string_view key, std::string_view value_text);

  // Valid until another block is asked for.
  Result<std::span<const BlockTrace>> traces(uint32_t block);
  Result<BlockTimes> times(uint32_t block);
  Result<BlockIds> ids(uint32_t block);
  // Rows of which the span or its resource has `key` with a value whose value_text() is `text`; ascending. Absent text
  // costs a look into the column's dictionary.
  Result<std::vector<uint32_t>> match(uint32_t block, std::string_view key, std::string_view text);
  // Rows of which the span or its resource has `key` with a value that passes the test; ascending.
  Result<std::vector<uint32_t>> match_if(uint32_t block, std::string_view key, const ValueTest& test);
  // Every value of `key` and the number of rows that have it, in no order.
  Result<std::vector<ValueRows>> value_counts(uint32_t block, std::string_view key);
  Result<StoredRows> rows(uint32_t block, uint32_t first_row, uint32_t row_count);
  // Where a trace lies, from the block where it begins (EncodedSegment::first_block) on; empty when it is not there.
  Result<std::vector<RowRange>> locate(const TraceId& id, uint32_t first_block);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fathom::store
