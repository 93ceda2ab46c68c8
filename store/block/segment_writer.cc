#include "store/block/segment_writer.h"

#include <algorithm>
#include <cassert>

#include "store/block/columns.h"
#include "store/block/detail_chunks.h"
#include "store/block/directory.h"
#include "store/block/filter.h"
#include "store/block/row_chunks.h"
#include "store/block/shapes_chunk.h"
#include "store/limited_parts.h"

namespace fathom::store {

namespace {

using namespace block;

template <typename T>
void widen(T& least, T& most, T value) {
  least = std::min(least, value);
  most = std::max(most, value);
}

uint64_t duration_of(const SegmentRow& row) {
  const Batch::Row& span = *row.row;
  return span.end_unix_nano > span.start_unix_nano ? span.end_unix_nano - span.start_unix_nano : 0;
}

// Of the trace and of its spans here, which may take longer where senders' clocks say nonsense. Searches do not take
// oversized traces from blocks, so only their spans count.
uint64_t longest_of(std::span<const SegmentRow> rows, const SegmentTrace& trace) {
  uint64_t longest = trace.summary.oversized ? 0 : trace.summary.duration_nano;
  for (const SegmentRow& row : rows.subspan(trace.first_row, trace.row_count)) {
    longest = std::max(longest, duration_of(row));
  }
  return longest;
}

// What the slowest part of the traces takes at least.
uint64_t slow_threshold(std::span<const SegmentRow> rows, std::span<const SegmentTrace> traces) {
  if (traces.empty()) return 0;
  std::vector<uint64_t> longest;
  for (const SegmentTrace& trace : traces) longest.push_back(longest_of(rows, trace));
  auto at = longest.begin() + static_cast<std::ptrdiff_t>(longest.size() / kSlowOfTraces);
  std::nth_element(longest.begin(), at, longest.end(), std::greater<>());
  return *at;
}

void add_row(BlockZone& zone, const SegmentRow& row) {
  const Batch::Row& span = *row.row;
  uint64_t start = corrected_unix_nano(span.start_unix_nano, row.batch->clock());
  widen(zone.min_start_unix_nano, zone.max_start_unix_nano, start);
  widen(zone.min_sequence, zone.max_sequence, row.sequence);
  zone.max_span_duration_nano = std::max(zone.max_span_duration_nano, duration_of(row));
  zone.errors |= span.status == StatusCode::kError;
}

BlockZone zone_of(const BlockRows& rows) {
  BlockZone zone;
  zone.rows = static_cast<uint32_t>(rows.rows.size());
  zone.traces = static_cast<uint32_t>(rows.traces.size());
  zone.min_start_unix_nano = zone.min_trace_start_unix_nano = zone.min_sequence = UINT64_MAX;
  for (const SegmentRow& row : rows.rows) add_row(zone, row);
  for (const TracePiece& piece : rows.traces) {
    const TraceSummary& summary = piece.trace->summary;
    if (summary.oversized) continue;
    widen(zone.min_trace_start_unix_nano, zone.max_trace_start_unix_nano, summary.start_unix_nano);
    zone.max_trace_duration_nano = std::max(zone.max_trace_duration_nano, summary.duration_nano);
  }
  zone.events = !rows.event_names.empty();
  zone.links = !rows.link_states.empty();
  zone.operations = rows.operations;
  return zone;
}

// The keys of the block that get a column of their own: the frequent ones, the most frequent first in line.
std::vector<uint32_t> own_columns(const BlockRows& rows, KeyRegistry& keys) {
  std::vector<uint32_t> order, numbers(rows.keys.size(), kNone);
  for (uint32_t i = 0; i < rows.keys.size(); ++i) {
    if (rows.keys[i].values.size() >= kRowsForOwnColumn) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return rows.keys[a].values.size() > rows.keys[b].values.size(); });
  if (order.size() > kOwnColumnsPerBlock) order.resize(kOwnColumnsPerBlock);
  for (uint32_t i : order) {
    uint32_t key = rows.keys[i].key;
    if (keys.own(key)) numbers[i] = keys[key].number;
  }
  return numbers;
}

SegmentOptions within_format(SegmentOptions options) {
  options.rows_per_block = std::clamp<uint32_t>(options.rows_per_block, 1, kMaxBlockRows);
  options.listed_keys = std::min(options.listed_keys, kMaxListedKeys);
  return options;
}

class SegmentWriter {
 public:
  SegmentWriter(const SegmentOptions& options, uint64_t slow_trace_nano)
      : options_(within_format(options)),
        packer_(options.zstd_level),
        keys_(std::min(options_.listed_keys, kOwnColumnsPerSegment)),
        gatherer_(keys_, shared_) {
    directory_.slow_trace_nano = slow_trace_nano;
  }

  void add_trace(std::span<const SegmentRow> rows, const SegmentTrace& trace) {
    if (gatherer_.row_count() > 0 && gatherer_.row_count() + trace.row_count > options_.rows_per_block) end_block();
    segment_.first_block.push_back(block_number());
    bool slow = longest_of(rows, trace) >= directory_.slow_trace_nano;
    for (const SegmentRow& row : rows.subspan(trace.first_row, trace.row_count)) {
      if (full()) end_block();
      gatherer_.add(&row, &trace, slow);
    }
    if (full()) end_block();
    ++directory_.traces;
  }

  Result<EncodedSegment> finish() {
    if (gatherer_.row_count() > 0) end_block();
    add_resource_pairs();
    directory_.filter_pages = filter_.write_pages(packer_, segment_.chunks);
    directory_.page_first = shared_.write_pages(packer_, segment_.chunks);
    directory_.shared_records = shared_.size();
    list_keys();
    segment_.directory = encode_directory(directory_, packer_);
    if (!packer_.within_limits()) return exhausted("a segment's chunk would pass the limits of the block format");
    return std::move(segment_);
  }

 private:
  bool full() const {
    return gatherer_.row_count() >= options_.rows_per_block || gatherer_.bytes() >= options_.bytes_per_block;
  }
  uint32_t block_number() const { return static_cast<uint32_t>(directory_.zones.size()); }

  void end_block() {
    BlockRows rows = gatherer_.take();
    BlockZone zone = zone_of(rows);
    std::vector<uint32_t> numbers = own_columns(rows, keys_);
    add_chunk(kTracesColumn, encode_traces(rows, packer_));
    add_chunk(kTimesColumn, encode_times(rows, packer_));
    add_chunk(kIdsColumn, encode_ids(rows, packer_));
    add_chunk(kShapesColumn, encode_shapes(rows, keys_, numbers, packer_));
    add_chunk(kDetailsColumn, encode_details(rows, packer_));
    add_chunk(kResourcesColumn, encode_resources(rows, packer_));
    if (zone.events) add_chunk(kEventsColumn, encode_events(rows, packer_));
    if (zone.links) add_chunk(kLinksColumn, encode_links(rows, packer_));
    add_rest(rows, numbers, zone);
    add_keys(rows, numbers, zone);
    directory_.zones.push_back(std::move(zone));
    filter_.end_block();
  }

  void add_chunk(uint32_t column, const std::string& body) {
    segment_.chunks.push_back({block_number(), column, seal_chunk(body)});
  }

  void add_keys(const BlockRows& rows, const std::vector<uint32_t>& numbers, BlockZone& zone) {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] != kNone) order.push_back(i);
    }
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return numbers[a] < numbers[b]; });
    for (uint32_t i : order) {
      zone.columns.push_back(numbers[i]);
      add_chunk(kFirstKeyColumn + numbers[i], encode_key(rows.keys[i]));
    }
  }

  std::string encode_key(const BlockRows::KeyValues& key) {
    dictionary_.build(key.values);
    uint64_t seed = keys_[key.key].seed;
    add_pairs(key, seed);
    std::string body;
    write_column(body, packer_, key.values, dictionary_);
    return body;
  }

  // What the dictionary was built from: each value once, or twice when slow traces have it and others too.
  void add_pairs(const BlockRows::KeyValues& key, uint64_t seed) {
    std::vector<FilterHalves> halves(dictionary_.values().size());
    for (size_t i = 0; i < key.slow.size(); ++i) {
      FilterHalves& of = halves[dictionary_.codes()[i]];
      (key.slow[i] != 0 ? of.slow : of.rest) = true;
    }
    for (size_t code = 0; code < halves.size(); ++code) {
      uint64_t hash = pair_hash(dictionary_.values()[code], seed);
      if (halves[code].slow) filter_.insert(hash, true);
      if (halves[code].rest) filter_.insert(hash, false);
    }
  }

  // The values of keys without a column, in the rows' order.
  void add_rest(const BlockRows& rows, const std::vector<uint32_t>& numbers, BlockZone& zone) {
    std::vector<ValueView> values;
    std::vector<uint32_t> next(rows.keys.size(), 0);
    for (uint32_t key : rows.shape_keys) {
      if (numbers[key] != kNone) continue;
      const BlockRows::KeyValues& of = rows.keys[key];
      bool slow = of.slow[next[key]] != 0;
      const ValueView& value = of.values[next[key]++];
      filter_.insert(pair_hash(value, keys_[of.key].seed), slow);
      values.push_back(value);
    }
    zone.rest = !values.empty();
    if (!zone.rest) return;
    dictionary_.build(values);
    std::string body;
    write_column(body, packer_, values, dictionary_);
    add_chunk(kRestColumn, body);
  }

  void add_resource_pairs() {
    for (const ResourceView& resource : shared_.resources()) {
      for (const AttributeView& attribute : resource.attributes) {
        KeyRegistry::Key& key = keys_[keys_.id_of(attribute.key)];
        key.on_resources = true;
        filter_.insert_resource(pair_hash(attribute.value, key.seed));
      }
    }
  }

  void list_keys() {
    auto& listed = directory_.keys;
    directory_.own_keys = keys_.own_count();
    listed.resize(directory_.own_keys);
    for (uint32_t id = 0; id < keys_.size(); ++id) {
      const KeyRegistry::Key& key = keys_[id];
      SegmentDirectory::Parts::Key entry{std::string(key.name), key.on_spans, key.on_resources, 0};
      if (key.number != kNone) {
        listed[key.number] = std::move(entry);
      } else if (listed.size() < options_.listed_keys) {
        listed.push_back(std::move(entry));
      } else {
        ++directory_.unlisted_keys;
      }
    }
    segment_.unlisted_keys = directory_.unlisted_keys;
    if (directory_.unlisted_keys != 0) limited_parts("listed_attribute_keys").add(directory_.unlisted_keys);
  }

  const SegmentOptions options_;
  Packer packer_;
  KeyRegistry keys_;
  SharedTable shared_;
  BlockGatherer gatherer_;
  Dictionary dictionary_;
  FilterWriter filter_;
  SegmentDirectory::Parts directory_;
  EncodedSegment segment_;
};

}  // namespace

Result<EncodedSegment> encode_segment(std::span<const SegmentRow> rows, std::span<const SegmentTrace> traces,
                                      const SegmentOptions& options) {
  SegmentWriter writer(options, slow_threshold(rows, traces));
  [[maybe_unused]] size_t next = 0;
  for (const SegmentTrace& trace : traces) {
    assert(trace.first_row == next && trace.row_count > 0 && next + trace.row_count <= rows.size());
    next += trace.row_count;
    writer.add_trace(rows, trace);
  }
  assert(next == rows.size());
  return writer.finish();
}

}  // namespace fathom::store
