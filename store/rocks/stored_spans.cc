#include "store/rocks/stored_spans.h"

#include "store/block/segment_reader.h"

namespace fathom::store {

namespace {

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

}  // namespace

StoredSpan StoredSpans::of(const StoredRow& row) {
  return stored_span(row.span, row.resource, row.scope, row.clock, operation(row.operation));
}

Result<StoredSpan> StoredSpans::of(const Generation& generation, const Generation::Row& row,
                                   std::vector<std::shared_ptr<const void>>& owners) {
  auto scratch = std::make_shared<PaidScratch>(budget_.hold());
  const BatchPtr& batch = generation.sources()[row.source].batch;
  const Batch::Row& stored = batch->rows()[row.index];
  if (Result<> paid = scratch->pay_before(stored.body_size); !paid) return paid.error();
  SpanView span = batch->span(stored, *scratch);
  scratch->pay_exactly();
  owners.push_back(scratch);
  owners.push_back(batch);
  return stored_span(span, batch->resource(stored.resource), batch->scope(stored.scope), batch->clock(),
                     operation(row.operation));
}

void StoredSpans::own_names(std::vector<std::shared_ptr<const void>>& owners) const {
  for (const auto& [number, operation] : operations_) owners.push_back(operation);
}

const OperationKey& StoredSpans::operation(uint32_t id) {
  std::shared_ptr<const OperationKey>& met = operations_[id];
  if (!met) met = std::make_shared<const OperationKey>(catalogue_.operation(id));
  return *met;
}

}  // namespace fathom::store
