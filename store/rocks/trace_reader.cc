#include "store/rocks/trace_reader.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "store/rocks/distinct_rows.h"
#include "store/rocks/sealed_tally.h"

namespace fathom::store {

struct TraceReader::Item {
  StoredSpan stored;
  TraceRow light;
};

namespace {

using ItemHashes = std::unordered_set<uint64_t>;

size_t distinct_ids(const std::vector<TraceRow>& rows) {
  std::vector<SpanId> ids;
  ids.reserve(rows.size());
  for (const TraceRow& row : rows) ids.push_back(row.span_id);
  std::sort(ids.begin(), ids.end());
  return static_cast<size_t>(std::unique(ids.begin(), ids.end()) - ids.begin());
}

// Keeps the first of equal rows, and flags ids that are left with several contents.
template <typename Item>
void collapse(std::vector<Item>& items) {
  std::unordered_map<SpanId, uint32_t, IdHash> times;
  for (const Item& item : items) ++times[item.light.span_id];
  std::unordered_map<SpanId, ItemHashes, IdHash> contents;
  std::erase_if(items, [&](const Item& item) {
    if (times[item.light.span_id] == 1) return false;
    const StoredSpan& stored = item.stored;
    uint64_t hash = content_hash(stored.span, stored.resource, stored.scope, stored.clock);
    return !contents[item.light.span_id].insert(hash).second;
  });
  for (Item& item : items) {
    auto found = contents.find(item.light.span_id);
    item.stored.conflicting = found != contents.end() && found->second.size() > 1;
  }
}

}  // namespace

// Items are gathered in a vector that grows and is sorted, then summarised by id.
Result<> TraceReader::pay_for_items(uint64_t rows) {
  constexpr uint64_t kItemBytes = 3 * sizeof(Item) + 2 * sizeof(TraceRow);
  constexpr uint64_t kIdBytes = 64;  // in a hash map and in a list
  return items_memory_.grow(rows * (kItemBytes + kIdBytes));
}

Result<> TraceReader::pay_for_spans(uint64_t spans, StoredTrace& trace) {
  auto memory = std::make_shared<HeldMemory>(sealed_.budget().hold());
  Result<> paid = memory->grow(spans * sizeof(StoredSpan));
  trace.owners.push_back(std::move(memory));
  return paid;
}

Result<> TraceReader::load_sealed(const TraceId& id, std::vector<Item>& items, StoredTrace& trace) {
  Result<std::vector<TracePart>> parts = sealed_.parts(id);
  if (!parts) return parts.error();
  for (const TracePart& part : *parts) {
    Result<LocatedPart> located = sealed_.locate(id, part);
    if (!located) return located.error();
    for (const RowRange& range : located->ranges) {
      Result<StoredRows> rows = located->reader->rows(range.block, range.first_row, range.row_count);
      if (!rows) return rows.error();
      if (Result<> paid = pay_for_items(range.row_count); !paid) return paid;
      for (const StoredRow& row : rows->rows) {
        items.push_back({spans_.of(row), trace_row(row)});
      }
      trace.owners.push_back(rows->owner);
    }
  }
  return {};
}

Result<> TraceReader::load_memory(const TraceId& id, std::vector<Item>& items, StoredTrace& trace) {
  for (const auto& generation : sealed_.view().generations) {
    auto lock = generation->read();
    const Generation::Trace* found = generation->find(id);
    if (found == nullptr) continue;
    uint64_t bytes = 0;
    Result<> paid = pay_for_items(found->row_count);
    generation->for_each_row(*found, [&](const Generation::Row& row, uint32_t) {
      if (!paid) return;
      Result<StoredSpan> span = spans_.of(*generation, row, trace.owners);
      if (!span) {
        paid = span.error();
        return;
      }
      items.push_back({*span, generation->trace_row(row)});
      bytes += generation->stored(row).body_size;
    });
    if (!paid) return paid;
    if (Result<> spent = sealed_.budget().spend(bytes); !spent) return spent;
  }
  return {};
}

Result<std::vector<TraceReader::Item>> TraceReader::load_items(const TraceId& id, uint64_t last_sequence,
                                                               StoredTrace& trace) {
  std::vector<Item> items;
  if (Result<> loaded = load_sealed(id, items, trace); !loaded) return loaded.error();
  if (Result<> loaded = load_memory(id, items, trace); !loaded) return loaded.error();
  std::erase_if(items, [=](const Item& item) { return item.light.sequence > last_sequence; });
  if (items.empty()) return not_found("trace " + id.hex() + " is not stored");
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.light.sequence < b.light.sequence; });
  collapse(items);
  return items;
}

Result<StoredTrace> TraceReader::load(const TraceId& id) {
  StoredTrace trace;
  trace.trace_id = id;
  Result<std::vector<Item>> items = load_items(id, last_sequence_, trace);
  if (!items) return items.error();
  std::stable_sort(items->begin(), items->end(), [](const Item& a, const Item& b) {
    return std::tie(a.light.start_unix_nano, a.light.span_id) < std::tie(b.light.start_unix_nano, b.light.span_id);
  });
  std::vector<TraceRow> rows;
  for (const Item& item : *items) rows.push_back(item.light);
  TraceSummary summary = summarise(rows);
  trace.start_unix_nano = summary.start_unix_nano;
  trace.duration_nano = summary.duration_nano;
  trace.complete = summary.complete;
  trace.spans_at_most = summary.spans;
  if (Result<> paid = pay_for_spans(items->size(), trace); !paid) return paid.error();
  trace.spans.reserve(items->size());
  for (const Item& item : *items) trace.spans.push_back(item.stored);
  spans_.own_names(trace.owners);
  items_memory_.release();
  return trace;
}

Result<std::vector<TraceId>> TraceReader::ids(const TraceIdRange& range, size_t most) {
  Result<std::vector<TraceId>> found = sealed_.trace_ids(range, most);
  if (!found) return found;
  for (const auto& generation : sealed_.view().generations) {
    if (Result<> may = sealed_.budget().check(); !may) return may.error();
    auto lock = generation->read();
    for (const Generation::Trace& trace : generation->traces()) {
      if (range.contains(trace.id)) found->push_back(trace.id);
    }
  }
  std::ranges::sort(*found);
  found->erase(std::unique(found->begin(), found->end()), found->end());
  if (found->size() > most) found->resize(most);
  return found;
}

// The snapshot of a reader does not change, so its answer does not either.
Result<std::optional<TracePart>> TraceReader::newest_part(const TraceId& id) {
  if (newest_part_of_ == id) return newest_part_;
  Result<std::optional<TracePart>> newest = sealed_.newest_part(id);
  if (!newest) return newest;
  newest_part_of_ = id;
  newest_part_ = *newest;
  return newest;
}

uint64_t TraceReader::rows_in_memory(const TraceId& id) const {
  uint64_t rows = 0;
  for (const auto& generation : sealed_.view().generations) {
    auto lock = generation->read();
    const Generation::Trace* found = generation->find(id);
    rows += found != nullptr ? found->row_count : 0;
  }
  return rows;
}

// Decided for all rows, also for a reader of the state that was: a trace that was once oversized stays so.
Result<bool> TraceReader::is_oversized(const TraceId& id) {
  known_summary_.reset();
  if (sealed_.oversized().contains(id)) return true;
  Result<std::optional<TracePart>> newest = newest_part(id);
  if (!newest) return newest.error();
  uint64_t sealed = *newest ? (*newest)->summary.spans : 0, unsealed = rows_in_memory(id);
  Result<bool> oversized = *newest && (*newest)->summary.oversized;
  if (!*oversized && unsealed > 0 && sealed + unsealed > sealed_.limits().spans) oversized = passes_limit(id);
  if (oversized && *oversized) sealed_.oversized().note({{id, {}}});
  return oversized;
}

// Before equal rows have collapsed, their number alone does not decide.
Result<bool> TraceReader::passes_limit(const TraceId& id) {
  Result<DistinctRowsReader::Answer> answer = DistinctRowsReader(sealed_).read(id, last_sequence_);
  if (!answer) return answer.error();
  known_summary_ = answer->summary;
  return answer->passes_limit;
}

// Until the next segment has a part of the trace, each search would read the same rows again.
Result<TraceTally> TraceReader::oversized_tally(const TraceId& id) {
  const uint32_t oldest = sealed_.oldest_partition();
  Result<std::optional<TracePart>> newest = newest_part(id);
  if (!newest) return newest.error();
  if (!*newest) return TraceTally();
  const uint32_t segment = (*newest)->segment;
  if ((*newest)->tallies || sealed_later(**newest)) return sealed_tally(sealed_, id, last_sequence_);
  if (std::optional<TraceTally> known = sealed_.oversized().sealed_tally(id, segment, oldest)) return *known;
  Result<TraceTally> tally = sealed_tally(sealed_, id, last_sequence_);
  if (tally) sealed_.oversized().note({{id, {.summary = {}, .sealed = {segment, oldest, *tally}}}});
  return tally;
}

Result<std::optional<TraceSummary>> TraceReader::oversized_summary(const TraceId& id) {
  Result<TraceTally> tally = oversized_tally(id);
  if (!tally) return tally.error();
  return with_unsealed(*std::move(tally), id);
}

std::optional<TraceSummary> TraceReader::with_unsealed(TraceTally tally, const TraceId& id) const {
  for (const auto& generation : sealed_.view().generations) {
    auto lock = generation->read();
    const Generation::Trace* found = generation->find(id);
    if (found != nullptr) tally.add(generation->tally(*found, last_sequence_));
  }
  if (tally.empty()) return std::nullopt;
  TraceSummary summary = tally.summary();
  summary.oversized = true;
  return summary;
}

Result<std::optional<TraceSummary>> TraceReader::page_summary(const TraceId& id) {
  Result<bool> oversized = is_oversized(id);
  if (!oversized) return oversized.error();
  if (*oversized) return oversized_summary(id);
  Result<std::optional<TracePart>> newest = newest_part(id);
  if (!newest) return newest.error();
  if (*newest && rows_in_memory(id) == 0 && !sealed_later(**newest)) return std::optional((*newest)->summary);
  Result<TraceTally> tally = sealed_tally(sealed_, id, last_sequence_);
  if (!tally) return tally.error();
  return with_unsealed(*std::move(tally), id);
}

Result<std::optional<TraceSummary>> TraceReader::summary(const TraceId& id) {
  Result<bool> oversized = is_oversized(id);
  if (!oversized) return oversized.error();
  if (*oversized) return oversized_summary(id);
  if (known_summary_) return known_summary_;
  if (rows_in_memory(id) > 0) return unsealed_summary(id);
  Result<std::optional<TracePart>> newest = newest_part(id);
  if (!newest) return newest.error();
  if (!*newest) return std::optional<TraceSummary>();
  if (sealed_later(**newest)) return summary_of_rows(id);
  return std::optional((*newest)->summary);
}

Result<std::optional<TraceSummary>> TraceReader::unsealed_summary(const TraceId& id) {
  Result<std::optional<TracePart>> newest = newest_part(id);
  if (!newest) return newest.error();
  std::optional<TraceSummary> known;
  if (!*newest) known = summary_of_large(id);
  if (known) return known;
  return summary_of_rows(id);
}

// Of a trace that lies in one generation alone and whose rows all differ.
std::optional<TraceSummary> TraceReader::summary_of_large(const TraceId& id) const {
  std::optional<TraceSummary> summary;
  for (const auto& generation : sealed_.view().generations) {
    auto lock = generation->read();
    const Generation::Trace* found = generation->find(id);
    if (found == nullptr) continue;
    const LargeTrace* large = generation->large(*found, last_sequence_);
    if (summary || large == nullptr || large->may_repeat_rows()) return std::nullopt;
    summary = large->tally().summary();
    summary->complete = large->is_complete();
  }
  return summary;
}

bool TraceReader::sealed_later(const TracePart& part) const {
  const std::vector<SegmentInfoPtr>& segments = sealed_.view().segments;
  if (segments.empty() || segments.back()->last_sequence <= last_sequence_) return false;
  SegmentInfoPtr segment = sealed_.view().segment(part.segment);
  return segment && segment->last_sequence > last_sequence_;
}

Result<bool> TraceReader::grew_later(const TraceId& id) {
  for (const auto& generation : sealed_.view().generations) {
    auto lock = generation->read();
    const Generation::Trace* found = generation->find(id);
    if (found != nullptr && generation->last_sequence(*found) > last_sequence_) return true;
  }
  const std::vector<SegmentInfoPtr>& segments = sealed_.view().segments;
  if (segments.empty() || segments.back()->last_sequence <= last_sequence_) return false;
  Result<std::optional<TracePart>> newest = newest_part(id);
  if (!newest) return newest.error();
  return *newest && sealed_later(**newest);
}

Result<std::vector<TraceRow>> TraceReader::light_rows(const TraceId& id, uint64_t last_sequence) {
  std::vector<TraceRow> rows;
  Result<std::vector<TracePart>> parts = sealed_.parts(id);
  if (!parts) return parts.error();
  for (const TracePart& part : *parts) {
    Result<std::vector<TraceRow>> sealed = sealed_.rows(id, part);
    if (!sealed) return sealed.error();
    rows.insert(rows.end(), sealed->begin(), sealed->end());
  }
  for (const auto& generation : sealed_.view().generations) {
    auto lock = generation->read();
    const Generation::Trace* found = generation->find(id);
    if (found == nullptr) continue;
    if (Result<> paid = pay_for_items(found->row_count); !paid) return paid.error();
    generation->for_each_row(*found,
                             [&](const Generation::Row& row, uint32_t) { rows.push_back(generation->trace_row(row)); });
  }
  std::erase_if(rows, [=](const TraceRow& row) { return row.sequence > last_sequence; });
  return rows;
}

Result<std::optional<TraceSummary>> TraceReader::summary_of_rows(const TraceId& id) {
  Result<std::vector<TraceRow>> light = light_rows(id, last_sequence_);
  if (!light) return light.error();
  std::vector<TraceRow>& rows = *light;
  if (rows.empty()) return std::optional<TraceSummary>();
  if (distinct_ids(rows) == rows.size()) {
    items_memory_.release();
    return std::optional(summarise(rows));
  }
  // Equal rows must collapse before they are counted, and only their whole contents can tell.
  StoredTrace unused;
  Result<std::vector<Item>> items = load_items(id, last_sequence_, unused);
  if (!items) return items.error();
  rows.clear();
  for (const Item& item : *items) rows.push_back(item.light);
  items_memory_.release();
  return std::optional(summarise(rows));
}

}  // namespace fathom::store
