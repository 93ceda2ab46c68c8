#include "store/rocks/index_builder.h"

namespace fathom::store {

namespace {

uint64_t cell_key(uint32_t operation, uint64_t unix_nano) {
  return uint64_t{operation} << 32 | keys::cell_of(keys::Level::kMinute, unix_nano);
}

uint32_t cell_operation(uint64_t key) {
  return static_cast<uint32_t>(key >> 32);
}
uint32_t cell_minute(uint64_t key) {
  return static_cast<uint32_t>(key);
}
uint32_t cell_hour(uint64_t key) {
  return cell_minute(key) / 60;
}

}  // namespace

void IndexBuilder::add_span(uint32_t operation, const SlowEntry& entry) {
  spans_[cell_key(operation, entry.start_unix_nano)].add(entry);
}

void IndexBuilder::add_trace(uint32_t operation, const SlowEntry& entry) {
  traces_[cell_key(operation, entry.start_unix_nano)].add(entry);
}

void IndexBuilder::add_latency(uint32_t operation, uint64_t start_unix_nano, uint64_t duration_nano, bool error) {
  latency_[cell_key(operation, start_unix_nano)].record(duration_nano, error);
}

void IndexBuilder::roll_up(By by, const Cells& cells, std::map<std::string, SlowList>& lists) const {
  using keys::Level;
  using keys::Scope;
  for (const auto& [key, list] : cells) {
    uint32_t operation = cell_operation(key);
    uint32_t service = catalogue_.service_of(operation);
    auto merge = [&](Scope scope, uint32_t id) {
      lists[keys::slow(partition_, by, Level::kMinute, scope, id, cell_minute(key))].merge(list);
      lists[keys::slow(partition_, by, Level::kHour, scope, id, cell_hour(key))].merge(list);
    };
    merge(Scope::kOperation, operation);
    merge(Scope::kService, service);
    merge(Scope::kAll, 0);
  }
}

std::map<std::string, std::string> IndexBuilder::slow_operands() const {
  std::map<std::string, SlowList> lists;
  roll_up(By::kSpan, spans_, lists);
  roll_up(By::kTrace, traces_, lists);
  std::map<std::string, std::string> operands;
  for (const auto& [key, list] : lists) list.encode(operands[key]);
  return operands;
}

std::map<std::string, std::string> IndexBuilder::latency_operands() const {
  std::map<std::string, LatencyCell> cells;
  for (const auto& [key, cell] : latency_) {
    cells[keys::latency(partition_, keys::Level::kMinute, cell_minute(key), cell_operation(key))].merge(cell);
    cells[keys::latency(partition_, keys::Level::kHour, cell_hour(key), cell_operation(key))].merge(cell);
  }
  std::map<std::string, std::string> operands;
  for (const auto& [key, cell] : cells) cell.encode(operands[key]);
  return operands;
}

}  // namespace fathom::store
