#include "query/queries.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "query/cursor.h"

namespace fathom::query {

namespace {

void add_operation(ServiceAnswer& service, const store::OperationStats& operation) {
  service.service_namespace = operation.key.service_namespace;
  service.service = operation.key.service;
  ++service.operations;
  service.spans += operation.spans;
  service.errors += operation.errors;
  service.durations.merge(operation.durations);
}

auto operation_order(const store::OperationStats& stats) {
  return std::tie(stats.key.service, stats.key.service_namespace, stats.key.operation, stats.key.kind);
}

}  // namespace

Result<SlowestAnswer> run_slowest(store::SpanStore& store, SlowestQuery query, store::QueryBudget& budget) {
  uint64_t hash = query_hash(query);
  std::optional<store::Cursor> cursor;
  if (!query.cursor.empty()) {
    auto position = decode_cursor(query.cursor, hash);
    if (!position) return position.error();
    query.filter.range = position->range;
    cursor = position->cursor;
  }
  auto page = store.slowest(query.filter, query.by, query.limit, cursor, budget);
  if (!page) return page.error();
  SlowestAnswer answer{.rows = std::move(page->rows)};
  if (page->next) answer.next_cursor = encode_cursor({query.filter.range, *page->next}, hash);
  return answer;
}

Result<std::vector<ServiceAnswer>> run_services(store::SpanStore& store, const store::TimeRange& range,
                                                store::QueryBudget& budget) {
  auto operations = store.operations(range, std::nullopt, budget);
  if (!operations) return operations.error();
  std::map<std::pair<std::string, std::string>, ServiceAnswer> services;
  for (const auto& operation : *operations) {
    add_operation(services[{operation.key.service, operation.key.service_namespace}], operation);
  }
  std::vector<ServiceAnswer> answer;
  for (auto& [name, service] : services) answer.push_back(std::move(service));
  return answer;
}

Result<std::vector<store::OperationStats>> run_operations(store::SpanStore& store, const store::TimeRange& range,
                                                          const std::optional<std::string>& service,
                                                          store::QueryBudget& budget) {
  auto operations = store.operations(range, service, budget);
  if (!operations) return operations;
  std::sort(operations->begin(), operations->end(),
            [](const auto& a, const auto& b) { return operation_order(a) < operation_order(b); });
  return operations;
}

}  // namespace fathom::query
