#include "store/model/memory_store.h"

#include <algorithm>

namespace fathom::store {

using namespace model;

void MemoryStore::append(BatchPtr batch, std::function<void(AppendResult)> done) {
  AppendResult result;
  {
    std::lock_guard lock(mutex_);
    result = accept(batch);
  }
  done(std::move(result));
}

AppendResult MemoryStore::accept(const BatchPtr& batch) {
  if (batch->rows().empty()) return {};
  uint64_t now = options_.now_unix_nano();
  if (is_duplicate(batch->identity(), now)) return {AppendOutcome::kDurable, "", true};
  ++sequence_;
  uint64_t hour = now / kNanosPerHour;
  Partition& partition = partitions_.try_emplace(hour, Partition{.oldest_received_unix_nano = now}).first->second;
  partition.newest_received_unix_nano = std::max(partition.newest_received_unix_nano, now);
  partition.accepted[batch->identity()] = now;
  for (const Batch::Row& encoded : batch->rows()) {
    std::shared_ptr<Row> row = decode_row(batch, encoded);
    row->sequence = sequence_;
    row->partition = hour;
    store_row(std::move(row));
  }
  return {};
}

void MemoryStore::store_row(std::shared_ptr<Row> row) {
  row->operation = operation_of(row->stored);
  auto [number, first] = operation_numbers_.try_emplace(row->operation, next_operation_);
  next_operation_ += first ? 1 : 0;
  row->operation_number = number->second;
  row->stored.operation = row->operation.operation;
  const TraceId& trace = row->stored.span.trace_id;
  row->repeated = !contents_.insert(row->content).second && !oversized_.contains(trace);
  if (!row->repeated && ++trace_spans_[trace] > options_.trace_spans) oversized_.insert(trace);
  rows_.push_back(std::move(row));
}

bool MemoryStore::is_duplicate(const Hash128& identity, uint64_t now) const {
  return std::ranges::any_of(partitions_, [&](const auto& entry) {
    auto found = entry.second.accepted.find(identity);
    return found != entry.second.accepted.end() && now - found->second < kNanosPerHour;
  });
}

OperationKey MemoryStore::operation_of(const StoredSpan& stored) {
  Service service(stored.service_namespace, stored.service);
  std::set<NamedKind>& known = operations_[service];
  const NamedKind other(kOtherOperation, SpanKind::kUnspecified);
  NamedKind own(stored.span.name, stored.span.kind);
  if (own != other && known.size() < options_.operations_per_service) known.insert(own);
  if (!known.contains(own)) own = other;
  return {service.first, service.second, own.first, own.second};
}

Result<std::vector<RowPtr>> MemoryStore::read_rows(QueryBudget& budget) {
  std::lock_guard lock(mutex_);
  if (Result<> may = budget.check(); !may) return may.error();
  for (const RowPtr& row : rows_) {
    if (Result<> may = budget.spend(row->content.size()); !may) return may.error();
  }
  return rows_;
}

Result<Traces> MemoryStore::read_traces(QueryBudget& budget) {
  Result<std::vector<RowPtr>> rows = read_rows(budget);
  if (!rows) return rows.error();
  Traces traces = group_traces(*rows);
  std::lock_guard lock(mutex_);
  for (auto& [id, trace] : traces) trace.oversized = oversized_.contains(id);
  return traces;
}

uint64_t MemoryStore::received_sequence() {
  std::lock_guard lock(mutex_);
  return sequence_;
}

Result<> MemoryStore::drop_before(uint64_t received_unix_nano) {
  std::lock_guard lock(mutex_);
  std::erase_if(partitions_,
                [&](const auto& entry) { return entry.second.newest_received_unix_nano < received_unix_nano; });
  for (const RowPtr& row : rows_) {
    if (!partitions_.contains(row->partition) && !row->repeated) contents_.erase(row->content);
  }
  std::erase_if(rows_, [&](const RowPtr& row) { return !partitions_.contains(row->partition); });
  forget_traces();
  forget_operations();
  return {};
}

void MemoryStore::forget_traces() {
  trace_spans_.clear();
  for (const RowPtr& row : rows_) {
    if (!row->repeated) ++trace_spans_[row->stored.span.trace_id];
  }
  std::erase_if(oversized_, [&](const TraceId& id) { return !trace_spans_.contains(id); });
}

// Those of dropped rows alone.
void MemoryStore::forget_operations() {
  std::set<OperationKey> stored;
  for (const RowPtr& row : rows_) stored.insert(row->operation);
  std::erase_if(operation_numbers_, [&](const auto& numbered) { return !stored.contains(numbered.first); });
  for (auto& [service, known] : operations_) {
    std::erase_if(known, [&](const NamedKind& own) {
      return !stored.contains({service.first, service.second, own.first, own.second});
    });
  }
}

StoreStats MemoryStore::stats() {
  std::lock_guard lock(mutex_);
  StoreStats stats;
  stats.received_sequence = sequence_;
  stats.spans_stored = contents_.size();
  if (!partitions_.empty()) stats.oldest_received_unix_nano = partitions_.begin()->second.oldest_received_unix_nano;
  return stats;
}

}  // namespace fathom::store
