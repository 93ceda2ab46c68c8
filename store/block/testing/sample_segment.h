// Segments for tests: batches put in a segment's order, with the summaries that a store would give them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "store/block/segment_reader.h"
#include "store/block/segment_writer.h"

namespace fathom::store::block {

struct SampleSegment {
  std::vector<BatchPtr> batches;
  std::vector<SegmentRow> rows;
  std::vector<SegmentTrace> traces;
};

inline uint64_t corrected_start(const SegmentRow& row) {
  return corrected_unix_nano(row.row->start_unix_nano, row.batch->clock());
}

inline uint64_t duration_of(const SegmentRow& row) {
  return row.row->end_unix_nano > row.row->start_unix_nano ? row.row->end_unix_nano - row.row->start_unix_nano : 0;
}

inline TraceSummary summary_of(std::span<const SegmentRow> rows) {
  TraceSummary summary;
  std::set<SpanId> ids;
  uint64_t end = 0;
  const SegmentRow* root = nullptr;
  summary.start_unix_nano = summary.first_sequence = UINT64_MAX;
  for (const SegmentRow& row : rows) {
    ids.insert(row.row->span_id);
    summary.start_unix_nano = std::min(summary.start_unix_nano, corrected_start(row));
    summary.first_sequence = std::min(summary.first_sequence, row.sequence);
    end = std::max(end, corrected_start(row) + duration_of(row));
    summary.error |= row.row->status == StatusCode::kError;
    if (root == nullptr && row.row->parent_span_id.is_zero()) root = &row;
  }
  summary.spans = rows.size();
  summary.duration_nano = end - summary.start_unix_nano;
  summary.has_root = root != nullptr;
  if (root == nullptr) root = &rows.front();
  if (summary.has_root) summary.root_duration_nano = duration_of(*root);
  summary.root_span_id = root->row->span_id;
  summary.root_operation = root->operation;
  summary.complete = std::all_of(rows.begin(), rows.end(), [&](const SegmentRow& row) {
    return row.row->parent_span_id.is_zero() || ids.contains(row.row->parent_span_id);
  });
  return summary;
}

// Sorts the batches' rows; an operation is a number per name and kind, the sequence is 1000 + the batch's index.
inline SampleSegment arrange(std::vector<BatchPtr> batches) {
  SampleSegment segment;
  std::map<std::pair<std::string_view, SpanKind>, uint32_t> operations;
  for (size_t b = 0; b < batches.size(); ++b) {
    for (const Batch::Row& row : batches[b]->rows()) {
      auto name = std::pair(batches[b]->strings()[row.name], row.kind);
      uint32_t operation = operations.try_emplace(name, static_cast<uint32_t>(7 + 3 * operations.size())).first->second;
      segment.rows.push_back({batches[b].get(), &row, 1000 + b, operation, false});
    }
  }
  std::sort(segment.rows.begin(), segment.rows.end(), [](const SegmentRow& a, const SegmentRow& b) {
    return std::tuple(a.row->trace_id, corrected_start(a), a.row->span_id) <
           std::tuple(b.row->trace_id, corrected_start(b), b.row->span_id);
  });
  for (uint32_t begin = 0; begin < segment.rows.size();) {
    uint32_t end = begin;
    const TraceId& id = segment.rows[begin].row->trace_id;
    while (end < segment.rows.size() && segment.rows[end].row->trace_id == id) ++end;
    std::span<const SegmentRow> rows(segment.rows.data() + begin, end - begin);
    segment.traces.push_back({id, begin, end - begin, summary_of(rows)});
    begin = end;
  }
  segment.batches = std::move(batches);
  return segment;
}

// Chunks in memory.
class MapSource : public ChunkSource {
 public:
  explicit MapSource(std::vector<Chunk> chunks) {
    for (Chunk& chunk : chunks) {
      chunks_[{chunk.block, chunk.column}] = std::make_shared<const std::string>(std::move(chunk.bytes));
    }
  }
  Result<ChunkBytes> read(uint32_t block, uint32_t column) override {
    ++reads;
    auto at = chunks_.find({block, column});
    if (at == chunks_.end())
      return corrupt("there is no chunk " + std::to_string(block) + "/" + std::to_string(column));
    return ChunkBytes{*at->second, at->second};
  }

  std::map<std::pair<uint32_t, uint32_t>, std::shared_ptr<const std::string>> chunks_;
  uint64_t reads = 0;
};

}  // namespace fathom::store::block
