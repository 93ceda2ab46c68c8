#include "store/block/block_rows.h"

#include <algorithm>

#include "base/hash.h"
#include "store/block/process_seed.h"
#include "store/block/values.h"

namespace fathom::store::block {

size_t KeyRegistry::SeededHash::operator()(std::string_view text) const {
  return hash64(text, process_seed());
}

uint32_t KeyRegistry::id_of(std::string_view name) {
  auto [at, is_new] = ids_.try_emplace(name, static_cast<uint32_t>(keys_.size()));
  if (is_new) keys_.push_back({name, key_seed(name)});
  return at->second;
}

bool KeyRegistry::own(uint32_t id) {
  Key& key = keys_[id];
  if (key.number == kNone && own_count_ < most_own_) key.number = own_count_++;
  return key.number != kNone;
}

void AttributeLists::add(std::span<const AttributeView> list) {
  counts.push_back(static_cast<uint32_t>(list.size()));
  for (const AttributeView& attribute : list) {
    keys.push_back(ValueView::of_string(attribute.key));
    values.push_back(attribute.value);
  }
}

void BlockGatherer::add(const SegmentRow* row, const SegmentTrace* trace, bool slow) {
  if (first_ == nullptr) first_ = row;
  add_piece(trace);
  SpanView span = row->batch->span(*row->row, scratch_);
  rows_.bytes += row->row->body_size + span.status_message.size() + span.trace_state.size();
  rows_.names.push_back(ValueView::of_string(span.name));
  rows_.messages.push_back(ValueView::of_string(span.status_message));
  rows_.trace_states.push_back(ValueView::of_string(span.trace_state));
  rows_.flags.push_back(span.flags);
  rows_.dropped_attributes.push_back(span.dropped_attributes_count);
  rows_.dropped_events.push_back(span.dropped_events_count);
  rows_.dropped_links.push_back(span.dropped_links_count);
  const SharedTable::BatchRecords& records = shared_.records_of(*row->batch);
  rows_.resources.push_back(records.resources[row->row->resource]);
  rows_.scopes.push_back(records.scopes[row->row->scope]);
  add_attributes(span.attributes, slow);
  add_events(span);
  add_links(span);
}

void BlockGatherer::add_piece(const SegmentTrace* trace) {
  std::vector<TracePiece>& traces = rows_.traces;
  if (traces.empty() || traces.back().trace != trace) traces.push_back({trace, static_cast<uint32_t>(row_count()), 0});
  ++traces.back().row_count;
}

void BlockGatherer::add_attributes(std::span<const AttributeView> attributes, bool slow) {
  rows_.shape_begins.push_back(static_cast<uint32_t>(rows_.shape_keys.size()));
  for (const AttributeView& attribute : attributes) {
    uint32_t local = local_key(keys_.id_of(attribute.key));
    rows_.shape_keys.push_back(local);
    rows_.keys[local].values.push_back(attribute.value);
    rows_.keys[local].slow.push_back(slow ? 1 : 0);
    rows_.bytes += attribute.value.text.size();
  }
}

uint32_t BlockGatherer::local_key(uint32_t key) {
  if (key >= local_.size()) local_.resize(keys_.size(), 0);
  if (local_[key] == 0) {
    rows_.keys.push_back({key, {}, {}});
    local_[key] = static_cast<uint32_t>(rows_.keys.size());
    keys_[key].on_spans = true;
  }
  return local_[key] - 1;
}

void BlockGatherer::add_events(const SpanView& span) {
  rows_.event_counts.push_back(static_cast<uint32_t>(span.events.size()));
  for (const EventView& event : span.events) {
    rows_.event_times.push_back(zigzag(static_cast<int64_t>(event.time_unix_nano - span.start_unix_nano)));
    rows_.event_names.push_back(ValueView::of_string(event.name));
    rows_.event_dropped.push_back(event.dropped_attributes_count);
    rows_.event_attributes.add(event.attributes);
    for (const AttributeView& attribute : event.attributes) rows_.bytes += attribute.value.text.size();
  }
}

void BlockGatherer::add_links(const SpanView& span) {
  rows_.link_counts.push_back(static_cast<uint32_t>(span.links.size()));
  for (const LinkView& link : span.links) {
    rows_.link_ids.append(link.trace_id.view());
    rows_.link_ids.append(link.span_id.view());
    rows_.link_states.push_back(ValueView::of_string(link.trace_state));
    rows_.link_flags.push_back(link.flags);
    rows_.link_dropped.push_back(link.dropped_attributes_count);
    rows_.link_attributes.add(link.attributes);
    for (const AttributeView& attribute : link.attributes) rows_.bytes += attribute.value.text.size();
  }
}

namespace {

// A root row takes its span id from the summary, and its duration too when the summary has a root's.
bool is_root_row(const SegmentRow& row, const TraceSummary& summary) {
  if (row.row->span_id != summary.root_span_id) return false;
  return !summary.has_root || row.row->end_unix_nano - row.row->start_unix_nano == summary.root_duration_nano;
}

}  // namespace

uint32_t root_row_of(const BlockRows& rows, const TracePiece& piece) {
  auto begin = rows.rows.begin() + piece.first_row;
  auto at = std::find_if(begin, begin + piece.row_count,
                         [&](const SegmentRow& row) { return is_root_row(row, piece.trace->summary); });
  return at == begin + piece.row_count ? kNone : static_cast<uint32_t>(at - begin);
}

BlockRows BlockGatherer::take() {
  rows_.rows = {first_, row_count()};
  rows_.shape_begins.push_back(static_cast<uint32_t>(rows_.shape_keys.size()));
  for (const SegmentRow& row : rows_.rows) rows_.operations.push_back(row.operation);
  std::vector<uint32_t>& distinct = rows_.operations;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (const SegmentRow& row : rows_.rows) {
    auto at = std::lower_bound(distinct.begin(), distinct.end(), row.operation);
    rows_.operation_index.push_back(static_cast<uint32_t>(at - distinct.begin()));
  }
  for (const BlockRows::KeyValues& key : rows_.keys) local_[key.key] = 0;
  first_ = nullptr;
  return std::exchange(rows_, {});
}

}  // namespace fathom::store::block
