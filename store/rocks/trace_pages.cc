#include "store/rocks/trace_pages.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace fathom::store {

// Where a row stands among those of its trace.
struct TracePages::Key {
  uint64_t first_sequence;  // of its unit
  uint64_t start_unix_nano;
  SpanId span_id;
  uint64_t sequence;

  static Key of(const TraceCursor& cursor) {
    return {cursor.first_sequence, cursor.start_unix_nano, cursor.span_id, cursor.sequence};
  }
  TraceCursor cursor(uint64_t received_sequence, uint64_t last_sequence) const {
    return {received_sequence, first_sequence, last_sequence, start_unix_nano, span_id, sequence};
  }
  auto operator<=>(const Key&) const = default;
};

Error outdated_cursor(const TraceId& id) {
  return invalid("the cursor of trace " + id.hex() +
                 " is from before a restart of the server that lost spans or grouped unsealed ones in another way; "
                 "read the trace again without a cursor");
}

Result<StoredTrace> TracePages::read(const TraceId& id, const std::optional<TraceCursor>& after, size_t limit) {
  after_ = after;
  limit_ = std::max<size_t>(limit, 1);
  page_ = {};
  page_.trace_id = id;
  if (has_other_units()) return outdated_cursor(id);
  page_memory_ = std::make_shared<HeldMemory>(sealed_.budget().hold());
  page_.owners.push_back(page_memory_);
  if (Result<> sealed = read_sealed(id); !sealed) return sealed.error();
  for (const auto& generation : sealed_.view().generations) {
    if (full_) break;
    if (Result<> unsealed = read_generation(*generation, id); !unsealed) return unsealed.error();
  }
  spans_.own_names(page_.owners);
  if (full_) page_.next = last_;
  return std::move(page_);
}

TracePages::Unit TracePages::unit_of(const SegmentInfo& info) const {
  return {info.first_sequence, std::min(info.last_sequence, last_sequence_)};
}

TracePages::Unit TracePages::unit_of(const Generation& generation) const {
  return {generation.sources().front().sequence, std::min(generation.sources().back().sequence, last_sequence_)};
}

// Whether units overlap the cursor's that are not the same. There is none at all if it was dropped.
bool TracePages::has_other_units() const {
  if (!after_) return false;
  const auto is_other = [this](const Unit& unit) {
    const bool overlaps = unit.first_sequence <= after_->last_sequence && unit.last_sequence >= after_->first_sequence;
    return overlaps && (unit.first_sequence != after_->first_sequence || unit.last_sequence != after_->last_sequence);
  };
  const View& view = sealed_.view();
  if (std::ranges::any_of(view.segments, [&](const SegmentInfoPtr& info) { return is_other(unit_of(*info)); })) {
    return true;
  }
  return std::ranges::any_of(view.generations, [&](const std::shared_ptr<Generation>& generation) {
    auto lock = generation->read();
    return !generation->sources().empty() && is_other(unit_of(*generation));
  });
}

// A list that grows takes twice what it holds.
Result<> TracePages::pay_for_spans(uint64_t spans) {
  return page_memory_->grow(2 * spans * sizeof(StoredSpan));
}

Result<> TracePages::read_sealed(const TraceId& id) {
  const std::vector<SegmentInfoPtr>& segments = sealed_.view().segments;
  auto segment = std::ranges::lower_bound(segments, after_ ? after_->first_sequence : 0, {},
                                          [](const SegmentInfoPtr& info) { return info->first_sequence; });
  while (!full_ && segment != segments.end() && (*segment)->first_sequence <= last_sequence_) {
    Result<std::optional<TracePart>> part = sealed_.part_from(id, (*segment)->partition, (*segment)->id);
    if (!part) return part.error();
    if (!*part) break;
    segment = std::ranges::lower_bound(segment, segments.end(), (*part)->segment, {},
                                       [](const SegmentInfoPtr& info) { return info->id; });
    if (segment == segments.end() || (*segment)->first_sequence > last_sequence_) break;
    if (Result<> read = read_part(id, **part, unit_of(**segment)); !read) return read;
    ++segment;
  }
  return {};
}

Result<> TracePages::read_part(const TraceId& id, const TracePart& part, const Unit& unit) {
  Result<LocatedPart> located = sealed_.locate(id, part);
  if (!located) return located.error();
  for (const RowRange& range : located->ranges) {
    if (full_) break;
    if (Result<> read = read_block(*located->reader, range, unit); !read) return read;
  }
  sealed_.close(part.segment);
  return {};
}

Result<> TracePages::read_block(SegmentReader& reader, const RowRange& range, const Unit& unit) {
  const BlockZone& zone = reader.directory().zone(range.block);
  if (zone.min_sequence > last_sequence_) return {};
  if (after_ && after_->first_sequence == unit.first_sequence && zone.max_start_unix_nano < after_->start_unix_nano)
    return {};
  Result<BlockTimes> times = reader.times(range.block);
  if (!times) return times.error();
  Result<BlockIds> ids = reader.ids(range.block);
  if (!ids) return ids.error();
  const size_t end = size_t{range.first_row} + range.row_count;
  if (ids->span.size() < end || times->start_unix_nano.size() < end) return corrupt("a block's columns disagree");
  std::vector<std::pair<uint32_t, Key>> wanted;
  HeldMemory memory = sealed_.budget().hold();
  if (Result<> paid = memory.grow(2 * range.row_count * sizeof(wanted.front())); !paid) return paid;
  for (uint32_t row = range.first_row; row < end; ++row) {
    Key key{unit.first_sequence, times->start_unix_nano[row], ids->span[row], times->sequence[row]};
    if (!is_wanted(key)) continue;
    if (is_full(key)) break;
    wanted.emplace_back(row, key);
    ++taken_;
    last_ = key.cursor(last_sequence_, unit.last_sequence);
  }
  if (wanted.empty()) return {};
  const uint32_t first = wanted.front().first;
  Result<StoredRows> rows = reader.rows(range.block, first, wanted.back().first - first + 1);
  if (!rows) return rows.error();
  if (Result<> paid = pay_for_spans(wanted.size()); !paid) return paid;
  for (const auto& [row, key] : wanted) page_.spans.push_back(spans_.of(rows->rows[row - first]));
  page_.owners.push_back(rows->owner);
  return {};
}

Result<> TracePages::read_generation(const Generation& generation, const TraceId& id) {
  auto lock = generation.read();
  const Generation::Trace* trace = generation.find(id);
  if (trace == nullptr) return {};
  const Unit unit = unit_of(generation);
  std::vector<std::pair<Key, uint32_t>> wanted;
  HeldMemory memory = sealed_.budget().hold();
  if (Result<> paid = memory.grow(2 * trace->row_count * sizeof(wanted.front())); !paid) return paid;
  generation.for_each_row(*trace, [&](const Generation::Row& row, uint32_t number) {
    Key key{unit.first_sequence, row.start_unix_nano, generation.stored(row).span_id, generation.sequence(row)};
    if (is_wanted(key)) wanted.emplace_back(key, number);
  });
  std::ranges::sort(wanted);
  uint64_t bytes = 0;
  for (const auto& [key, number] : wanted) {
    if (is_full(key)) break;
    const Generation::Row& row = generation.rows()[number];
    if (Result<> paid = pay_for_spans(1); !paid) return paid;
    Result<StoredSpan> span = spans_.of(generation, row, page_.owners);
    if (!span) return span.error();
    page_.spans.push_back(*span);
    bytes += generation.stored(row).body_size;
    ++taken_;
    last_ = key.cursor(last_sequence_, unit.last_sequence);
  }
  return sealed_.budget().spend(bytes);
}

bool TracePages::is_wanted(const Key& key) const {
  return key.sequence <= last_sequence_ && (!after_ || Key::of(*after_) < key);
}

// Rows that are alike in their place stay on one page.
bool TracePages::is_full(const Key& next) {
  full_ = taken_ >= limit_ && last_ && Key::of(*last_) != next;
  return full_;
}

}  // namespace fathom::store
