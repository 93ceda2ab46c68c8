// encode_segment(): sorted rows in, the columns of a sealed segment out (docs/formats/block.md).
//
// Purpose: a segment is written once and never changed. Its rows, sorted by (trace id, corrected start, span id), are
// cut into blocks of whole traces; each column of each block is a chunk of its own, so that a search reads one
// attribute without its neighbours. Bytes in, bytes out: where the chunks live is the caller's business. Ownership:
// rows point into batches that must live until the call returns; the result owns its bytes. Thread safety: a pure
// function. Errors: kExhausted when one chunk would pass the format's limits; bad order is our own fault (assertion).
// Source of the idea: Parquet's and Dremel's columns, with dictionaries per block.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/batch.h"
#include "store/block/layout.h"
#include "store/block/summary.h"

namespace fathom::store {

struct SegmentRow {
  const Batch* batch = nullptr;
  const Batch::Row* row = nullptr;
  uint64_t sequence = 0;   // reception sequence of the batch
  uint32_t operation = 0;  // catalogue id
  bool conflicting = false;
};

struct SegmentTrace {
  TraceId id;
  uint32_t first_row = 0;
  uint32_t row_count = 0;  // at least one
  TraceSummary summary;
};

// Chunks that belong to the segment as a whole carry this block number; it sorts behind every block.
inline constexpr uint32_t kSegmentWide = UINT32_MAX;

struct Chunk {
  uint32_t block = 0;
  uint32_t column = 0;
  std::string bytes;
};

struct EncodedSegment {
  std::string directory;              // what SegmentDirectory::open() takes
  std::vector<Chunk> chunks;          // by (block, column), ascending
  std::vector<uint32_t> first_block;  // per trace: the block where it begins
  uint64_t unlisted_keys = 0;         // attribute keys beyond listed_keys: stored, found by conditions, not listed
};

struct SegmentOptions {
  uint32_t rows_per_block = 1024;
  uint64_t bytes_per_block =
      4u << 20;  // of encoded bodies and the values they refer to; a block ends when it has as many
  // Of the segment; never more than the format has. A key with columns of its own is always listed, so this bounds
  // those as well.
  uint32_t listed_keys = block::kMaxListedKeys;
  int zstd_level = 1;
};

// `traces` covers `rows` without gaps, in row order.
Result<EncodedSegment> encode_segment(std::span<const SegmentRow> rows, std::span<const SegmentTrace> traces,
                                      const SegmentOptions& options = {});

}  // namespace fathom::store
