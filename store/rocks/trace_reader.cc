#include "store/rocks/trace_reader.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace fathom::store {

struct TraceReader::Item {
  StoredSpan stored;
  TraceRow light;
};

namespace {

using ItemHashes = std::unordered_set<uint64_t>;

// The lists of one span from memory, and what they cost.
struct PaidScratch : Batch::Scratch {
  explicit PaidScratch(HeldMemory held) : memory(std::move(held)) {}

  // An attribute takes two encoded bytes at least, and a list that grows may have room for twice as many.
  Result<> pay_before(uint64_t encoded_bytes) {
    return memory.grow(kOwnBytes + 2 * sizeof(AttributeView) * (encoded_bytes / 2));
  }
  void pay_exactly() {
    memory.shrink_to(kOwnBytes + attributes.capacity() * sizeof(AttributeView) + events.capacity() * sizeof(EventView) +
                     links.capacity() * sizeof(LinkView));
  }

  static constexpr uint64_t kOwnBytes = 256;  // its own, and that of the trace's owners
  HeldMemory memory;
};

StoredSpan stored_span(const SpanView& span, const ResourceView& resource, const ScopeView& scope,
                       const std::optional<ClockOffset>& clock, const OperationKey& operation) {
  return {span, resource, scope, operation.service_namespace, operation.service, operation.operation, clock, false};
}

TraceRow light_row(const SpanView& span, const std::optional<ClockOffset>& clock, uint64_t sequence,
                   uint32_t operation) {
  return {span.span_id,
          span.parent_span_id,
          corrected_unix_nano(span.start_unix_nano, clock),
          span.duration_nano(),
          sequence,
          operation,
          span.status == StatusCode::kError};
}

bool has_repeated_id(const std::vector<TraceRow>& rows) {
  std::vector<SpanId> ids;
  for (const TraceRow& row : rows) ids.push_back(row.span_id);
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) != ids.end();
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

const OperationKey& TraceReader::operation(uint32_t id) {
  std::shared_ptr<const OperationKey>& met = operations_[id];
  if (!met) met = std::make_shared<const OperationKey>(catalogue_.operation(id));
  return *met;
}

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
        items.push_back({stored_span(row.span, row.resource, row.scope, row.clock, operation(row.operation)),
                         light_row(row.span, row.clock, row.sequence, row.operation)});
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
      const BatchPtr& batch = generation->sources()[row.source].batch;
      const Batch::Row& stored = batch->rows()[row.index];
      auto scratch = std::make_shared<PaidScratch>(sealed_.budget().hold());
      if (paid) paid = scratch->pay_before(stored.body_size);
      if (!paid) return;
      SpanView span = batch->span(stored, *scratch);
      items.push_back({stored_span(span, batch->resource(stored.resource), batch->scope(stored.scope), batch->clock(),
                                   operation(row.operation)),
                       generation->trace_row(row)});
      scratch->pay_exactly();
      trace.owners.push_back(scratch);
      trace.owners.push_back(batch);
      bytes += stored.body_size;
    });
    if (!paid) return paid;
    if (Result<> spent = sealed_.budget().spend(bytes); !spent) return spent;
  }
  return {};
}

Result<std::vector<TraceReader::Item>> TraceReader::load_items(const TraceId& id, StoredTrace& trace) {
  std::vector<Item> items;
  if (Result<> loaded = load_sealed(id, items, trace); !loaded) return loaded.error();
  if (Result<> loaded = load_memory(id, items, trace); !loaded) return loaded.error();
  std::erase_if(items, [this](const Item& item) { return item.light.sequence > last_sequence_; });
  if (items.empty()) return not_found("trace " + id.hex() + " is not stored");
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.light.sequence < b.light.sequence; });
  collapse(items);
  return items;
}

Result<StoredTrace> TraceReader::load(const TraceId& id) {
  StoredTrace trace;
  trace.trace_id = id;
  Result<std::vector<Item>> items = load_items(id, trace);
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
  if (Result<> paid = pay_for_spans(items->size(), trace); !paid) return paid.error();
  trace.spans.reserve(items->size());
  for (const Item& item : *items) trace.spans.push_back(item.stored);
  for (const auto& [number, operation] : operations_) trace.owners.push_back(operation);
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

bool TraceReader::in_memory(const TraceId& id) const {
  for (const auto& generation : sealed_.view().generations) {
    auto lock = generation->read();
    if (generation->find(id) != nullptr) return true;
  }
  return false;
}

Result<std::optional<TraceSummary>> TraceReader::summary(const TraceId& id) {
  if (in_memory(id)) return summary_of_rows(id);
  Result<std::vector<TracePart>> parts = sealed_.parts(id);
  if (!parts) return parts.error();
  if (parts->empty()) return std::optional<TraceSummary>();
  if (sealed_later(parts->back())) return summary_of_rows(id);
  return std::optional(parts->back().summary);
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
  Result<std::vector<TracePart>> parts = sealed_.parts(id);
  if (!parts) return parts.error();
  return !parts->empty() && sealed_later(parts->back());
}

Result<std::vector<TraceRow>> TraceReader::light_rows(const TraceId& id) {
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
  std::erase_if(rows, [this](const TraceRow& row) { return row.sequence > last_sequence_; });
  return rows;
}

Result<std::optional<TraceSummary>> TraceReader::summary_of_rows(const TraceId& id) {
  Result<std::vector<TraceRow>> light = light_rows(id);
  if (!light) return light.error();
  std::vector<TraceRow>& rows = *light;
  if (rows.empty()) return std::optional<TraceSummary>();
  if (!has_repeated_id(rows)) {
    items_memory_.release();
    return std::optional(summarise(rows));
  }
  // Equal rows must collapse before they are counted, and only their whole contents can tell.
  StoredTrace unused;
  Result<std::vector<Item>> items = load_items(id, unused);
  if (!items) return items.error();
  rows.clear();
  for (const Item& item : *items) rows.push_back(item.light);
  items_memory_.release();
  return std::optional(summarise(rows));
}

}  // namespace fathom::store
