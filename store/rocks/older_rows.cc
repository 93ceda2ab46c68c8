#include "store/rocks/older_rows.h"

#include <algorithm>
#include <utility>

namespace fathom::store {

const OlderRows::Trace* OlderRows::Block::find(const TraceId& id) const {
  auto at = std::ranges::lower_bound(traces, id, {}, &Trace::id);
  return at != traces.end() && at->id == id ? &*at : nullptr;
}

Result<> OlderRows::read(const TraceId& id, const TracePart& part, std::vector<TraceRow>& rows,
                         std::vector<OlderPlace>& places) {
  for (uint32_t number = part.first_block;; ++number) {
    Result<const Block*> read = block(id, part, number);
    if (!read) return read.error();
    const Block& block = **read;
    const Trace* trace = block.find(id);
    if (trace == nullptr) return {};
    if (size_t{trace->first_row} + trace->row_count > block.rows.size()) return corrupt("a block's columns disagree");
    places.push_back({part.partition, part.segment, {number, trace->first_row, trace->row_count}});
    const auto first = block.rows.begin() + trace->first_row;
    rows.insert(rows.end(), first, first + trace->row_count);
    if (!block.may_go_on(*trace)) return {};
  }
}

Result<const OlderRows::Block*> OlderRows::block(const TraceId& id, const TracePart& part, uint32_t number) {
  auto known = blocks_.find(part.segment);
  if (known != blocks_.end() && known->second.number == number) return &known->second;
  Result<Block> decoded = decode(part, number);
  if (!decoded) return decoded.error();
  if (known == blocks_.end()) make_room(id);
  return &(blocks_[part.segment] = *std::move(decoded));
}

// Blocks of earlier traces alone are not needed again. If all may be, one of them goes, whichever: each trace needs its
// blocks in the same order, so the least recently used one would be the next that is needed.
void OlderRows::make_room(const TraceId& id) {
  if (blocks_.size() < kMostSegments) return;
  std::erase_if(blocks_, [&](const auto& entry) {
    const std::vector<Trace>& traces = entry.second.traces;
    return traces.empty() || traces.back().id < id;
  });
  if (blocks_.size() >= kMostSegments) blocks_.erase(blocks_.begin());
}

Result<OlderRows::Block> OlderRows::decode(const TracePart& part, uint32_t number) {
  Result<SegmentReader*> reader = sealed_.segment(part.partition, part.segment);
  if (!reader) return reader.error();
  const uint32_t blocks = (*reader)->directory().block_count();
  if (number >= blocks) return Block{.number = number, .is_last = true, .traces = {}, .rows = {}};
  Result<std::span<const BlockTrace>> traces = (*reader)->traces(number);
  if (!traces) return traces.error();
  Block block{.number = number, .is_last = number + 1 == blocks, .traces = {}, .rows = {}};
  for (const BlockTrace& trace : *traces) block.traces.push_back({trace.id, trace.first_row, trace.row_count});
  Result<BlockIds> ids = (*reader)->ids(number);
  if (!ids) return ids.error();
  Result<BlockTimes> times = (*reader)->times(number);
  if (!times) return times.error();
  const size_t rows = (*reader)->directory().zone(number).rows;
  if (ids->span.size() != rows || times->start_unix_nano.size() != rows) return corrupt("a block's columns disagree");
  block.rows.reserve(rows);
  for (size_t i = 0; i < rows; ++i) block.rows.push_back(trace_row(*ids, *times, i));
  sealed_.close(part.segment);
  return block;
}

}  // namespace fathom::store
