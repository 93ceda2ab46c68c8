#include "store/rocks/statistics.h"
#include "store/rocks/scan_options.h"

#include <algorithm>
#include <set>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/time.h"

namespace fathom::store {

using keys::Level;

namespace {

// The whole minutes that a range touches; `last` is inclusive, and less than `first` for an empty range.
struct Minutes {
  uint32_t first = 1;
  uint32_t last = 0;
};

Minutes minutes_of(const TimeRange& range) {
  if (range.from_unix_nano >= range.to_unix_nano) return {};
  return {keys::cell_of(Level::kMinute, range.from_unix_nano), keys::cell_of(Level::kMinute, range.to_unix_nano - 1)};
}

bool contains_minute(const Minutes& minutes, uint64_t unix_nano) {
  uint32_t minute = keys::cell_of(Level::kMinute, unix_nano);
  return minute >= minutes.first && minute <= minutes.last;
}

// Every attribute of the rows in the range, and of their resources; ends with the first error of `visit`.
template <typename Visit>
Result<> visit_attributes(const Generation& generation, const TimeRange& range, Visit visit) {
  Batch::Scratch scratch;
  Result<> done;
  auto each = [&](std::span<const AttributeView> attributes, const Generation::Row& row) {
    for (auto attribute = attributes.begin(); done && attribute != attributes.end(); ++attribute) {
      done = visit(*attribute, row);
    }
  };
  for (const Generation::Row& row : generation.rows()) {
    if (!done) break;
    if (!range.contains(row.start_unix_nano)) continue;
    const Batch::Row& stored = generation.stored(row);
    each(generation.batch(row).span(stored, scratch).attributes, row);
    each(generation.batch(row).resource(stored.resource).attributes, row);
  }
  return done;
}

constexpr uint64_t kTextInMap = 128;  // what a text in a map takes beside its characters

uint64_t bytes_of(const LatencyCell& cell) {
  constexpr uint64_t kCellInMap = 128;
  return kCellInMap + cell.durations.buckets().capacity() * sizeof(cell.durations.buckets()[0]);
}

}  // namespace

Statistics::Statistics(Engine& engine, QueryBudget& budget)
    : engine_(engine), budget_(budget), view_(engine.views.get()), sealed_(engine.sealed(), view_, budget) {}

Result<> Statistics::visit_level(uint32_t partition, Level level, uint32_t first, uint32_t last, const Visit& visit) {
  if (first > last) return {};
  rocksdb::ReadOptions options = scan_options();
  options.snapshot = view_->snapshot.get();
  Database& database = *engine_.database;
  std::unique_ptr<rocksdb::Iterator> cells(database.db().NewIterator(options, database.family(Family::kLatency)));
  // The prefix without its cell number: tenant, partition, level.
  std::string prefix = keys::latency_cell(partition, level, first);
  std::string series = prefix.substr(0, prefix.size() - 4);
  for (cells->Seek(prefix); cells->Valid(); cells->Next()) {
    std::string_view key(cells->key().data(), cells->key().size());
    if (!key.starts_with(series) || key.size() != series.size() + 8) break;
    uint32_t cell_number = load_be32(key.data() + series.size());
    if (cell_number > last) break;
    std::string_view value(cells->value().data(), cells->value().size());
    if (Result<> spent = budget_.spend(value.size()); !spent) return spent;
    Result<LatencyCell> cell = LatencyCell::decode(value);
    if (!cell) return cell.error();
    visit(keys::last_be32(key), uint64_t{cell_number} * keys::level_nano(level), *cell);
  }
  return cells->status().ok() ? Result<>() : Result<>(from_status(cells->status(), "read latency cells"));
}

Result<> Statistics::visit_cells(const TimeRange& range, uint64_t longest_nano, const Visit& visit) {
  Minutes minutes = minutes_of(range);
  if (minutes.first > minutes.last) return {};
  // Whole hours inside the range; minutes before and after them.
  uint32_t first_hour = (minutes.first + 59) / 60;
  uint32_t end_hour = (minutes.last + 1) / 60;
  bool hours = longest_nano >= kNanosPerHour && first_hour < end_hour;
  for (uint32_t partition : view_->partitions({uint64_t{minutes.first} * kNanosPerMinute,
                                               end_of(uint64_t{minutes.last} * kNanosPerMinute, kNanosPerMinute)})) {
    Result<> visited;
    if (!hours) {
      visited = visit_level(partition, Level::kMinute, minutes.first, minutes.last, visit);
    } else {
      if (first_hour * 60 > minutes.first) {
        visited = visit_level(partition, Level::kMinute, minutes.first, first_hour * 60 - 1, visit);
      }
      if (visited) visited = visit_level(partition, Level::kHour, first_hour, end_hour - 1, visit);
      if (visited) visited = visit_level(partition, Level::kMinute, end_hour * 60, minutes.last, visit);
    }
    if (!visited) return visited;
  }
  return visit_memory(range, visit);
}

Result<> Statistics::visit_memory(const TimeRange& range, const Visit& visit) {
  Minutes minutes = minutes_of(range);
  for (const auto& generation : view_->generations) {
    if (Result<> alive = budget_.check(); !alive) return alive;
    auto lock = generation->read();
    std::map<std::pair<uint32_t, uint32_t>, LatencyCell> cells;  // by (minute, operation)
    HeldMemory memory = budget_.hold();
    for (const Generation::Row& row : generation->rows()) {
      if (!contains_minute(minutes, row.start_unix_nano)) continue;
      auto [cell, is_new] =
          cells.try_emplace({keys::cell_of(Level::kMinute, row.start_unix_nano), row.operation}, LatencyCell{});
      if (Result<> paid = record(row, is_new, cell->second, memory); !paid) return paid;
    }
    for (const auto& [key, cell] : cells) visit(key.second, key.first * kNanosPerMinute, cell);
  }
  return {};
}

// The memory of a cell is known after a duration was added: one more bucket at the most.
Result<> Statistics::record(const Generation::Row& row, bool is_new, LatencyCell& cell, HeldMemory& memory) {
  const uint64_t before = is_new ? 0 : bytes_of(cell);
  cell.record(row.duration_nano, row.error);
  return memory.grow(bytes_of(cell) - before);
}

// What cells are added to stays with the query until its end. Beyond the budget the next cell is not read.
void Statistics::merge(const LatencyCell& cell, LatencyCell& sum) {
  const uint64_t before = sum.durations.empty() ? 0 : bytes_of(sum);
  sum.merge(cell);
  if (Result<> paid = budget_.spend(bytes_of(sum) - before); !paid) unpaid_ = paid.error();
}

// Nothing when all are wanted.
Statistics::Wanted Statistics::wanted_operations(const std::optional<std::string>& service,
                                                 const std::optional<std::string>& operation) const {
  if (!service && !operation) return std::nullopt;
  std::vector<uint32_t> ids = engine_.catalogue.operations(service, operation);
  return std::unordered_set<uint32_t>(ids.begin(), ids.end());
}

Result<std::vector<OperationStats>> Statistics::operations(const TimeRange& range,
                                                           const std::optional<std::string>& service) {
  std::unordered_map<uint32_t, LatencyCell> sums;
  Wanted wanted = wanted_operations(service, std::nullopt);
  Result<> visited = visit_cells(range, UINT64_MAX, [&](uint32_t operation, uint64_t, const LatencyCell& cell) {
    if (!wanted || wanted->contains(operation)) merge(cell, sums[operation]);
  });
  if (!visited || unpaid_) return visited ? *unpaid_ : visited.error();
  std::vector<OperationStats> stats;
  for (auto& [operation, cell] : sums) {
    OperationKey key = engine_.catalogue.operation(operation);
    const uint64_t names = key.service_namespace.size() + key.service.size() + key.operation.size();
    if (Result<> paid = budget_.spend(2 * sizeof(OperationStats) + names); !paid) return paid.error();
    stats.push_back({std::move(key), cell.durations.count(), cell.errors, std::move(cell.durations)});
  }
  std::sort(stats.begin(), stats.end(), [](const OperationStats& a, const OperationStats& b) { return a.key < b.key; });
  return stats;
}

Result<std::vector<LatencyPoint>> Statistics::latency(const TimeRange& range, const std::optional<std::string>& service,
                                                      const std::optional<std::string>& operation, uint64_t step_nano) {
  if (step_nano == 0 || step_nano % kNanosPerMinute != 0) {
    return invalid("the step of a latency series must be a whole number of minutes");
  }
  Wanted wanted = wanted_operations(service, operation);
  std::map<uint64_t, LatencyCell> points;
  // An hour's cell may stand for its minutes only where no step begins inside the hour.
  uint64_t longest = step_nano % kNanosPerHour == 0 ? kNanosPerHour : kNanosPerMinute;
  Result<> visited = visit_cells(range, longest, [&](uint32_t id, uint64_t start, const LatencyCell& cell) {
    if (!wanted || wanted->contains(id)) merge(cell, points[start - start % step_nano]);
  });
  if (!visited || unpaid_) return visited ? *unpaid_ : visited.error();
  std::vector<LatencyPoint> series;
  for (auto& [start, cell] : points) series.push_back({start, cell.errors, std::move(cell.durations)});
  return series;
}

Result<std::vector<std::string>> Statistics::attribute_keys(const TimeRange& range) {
  std::set<std::string> keys;
  for (const SegmentInfoPtr& segment : view_->segments) {
    if (!segment->touches(range)) continue;
    Result<SegmentReader*> reader = sealed_.segment(*segment);
    if (!reader && reader.error().code == ErrorCode::kNotFound) continue;
    if (!reader) return reader.error();
    const std::vector<std::string>& listed = (*reader)->directory().attribute_keys();
    keys.insert(listed.begin(), listed.end());
    sealed_.close(segment->id);
  }
  for (const auto& generation : view_->generations) {
    if (Result<> alive = budget_.check(); !alive) return alive.error();
    auto lock = generation->read();
    std::unordered_set<const char*> seen;  // a batch keeps each text once, so its place stands for it
    Result<> visited = visit_attributes(*generation, range, [&](const AttributeView& attribute, const auto&) {
      if (!seen.insert(attribute.key.data()).second) return Result<>();
      keys.emplace(attribute.key);
      return budget_.spend(attribute.key.size() + kTextInMap);
    });
    if (!visited) return visited.error();
  }
  return std::vector<std::string>(keys.begin(), keys.end());
}

Result<> Statistics::count_sealed_values(const TimeRange& range, const std::string& key,
                                         std::map<std::string, uint64_t>& counts) {
  for (const SegmentInfoPtr& segment : view_->segments) {
    if (!segment->touches(range)) continue;
    Result<SegmentReader*> reader = sealed_.segment(*segment);
    if (!reader && reader.error().code == ErrorCode::kNotFound) continue;
    if (!reader) return reader.error();
    const SegmentDirectory& directory = (*reader)->directory();
    for (uint32_t block = 0; block < directory.block_count(); ++block) {
      const BlockZone& zone = directory.zone(block);
      if (zone.max_start_unix_nano < range.from_unix_nano || zone.min_start_unix_nano >= range.to_unix_nano) continue;
      Result<std::vector<ValueRows>> values = (*reader)->value_counts(block, key);
      if (!values && values.error().code == ErrorCode::kNotFound) break;
      if (!values) return values.error();
      for (const ValueRows& value : *values) {
        if (Result<> counted = add_count(value.value, value.rows, counts); !counted) return counted;
      }
    }
    sealed_.close(segment->id);
  }
  return {};
}

Result<> Statistics::count_memory_values(const TimeRange& range, const std::string& key,
                                         std::map<std::string, uint64_t>& counts) {
  for (const auto& generation : view_->generations) {
    if (Result<> alive = budget_.check(); !alive) return alive;
    auto lock = generation->read();
    // A row counts once per value, wherever the value stands: `last` is the row that counted it last.
    struct Tally {
      uint64_t rows = 0;
      const Generation::Row* last = nullptr;
    };
    std::map<std::string, Tally, std::less<>> tallies;
    HeldMemory memory = budget_.hold();
    auto count = [&](const AttributeView& attribute, const Generation::Row& row) -> Result<> {
      if (attribute.key != key) return {};
      bool as_is = attribute.value.type == ValueType::kString;
      auto found = as_is ? tallies.find(attribute.value.text) : tallies.end();
      if (found == tallies.end()) {
        if (Result<> held = memory.grow(2 * attribute.value.text.size() + kTextInMap); !held) return held;
        found = tallies.try_emplace(value_text(attribute.value)).first;
      }
      if (std::exchange(found->second.last, &row) != &row) ++found->second.rows;
      return {};
    };
    if (Result<> visited = visit_attributes(*generation, range, count); !visited) return visited;
    for (const auto& [value, tally] : tallies) {
      if (Result<> counted = add_count(value, tally.rows, counts); !counted) return counted;
    }
  }
  return {};
}

// Distinct values live in memory while they are counted, so they come out of the query's budget.
Result<> Statistics::add_count(const std::string& value, uint64_t rows, std::map<std::string, uint64_t>& counts) {
  auto found = counts.find(value);
  if (found == counts.end()) {
    if (Result<> paid = budget_.spend(value.size() + kTextInMap); !paid) return paid;
    found = counts.emplace(value, 0).first;
  }
  found->second += rows;
  return {};
}

Result<std::vector<ValueCount>> Statistics::attribute_values(const TimeRange& range, const std::string& key,
                                                             const std::string& containing, size_t limit) {
  std::map<std::string, uint64_t> counts;
  if (Result<> counted = count_sealed_values(range, key, counts); !counted) return counted.error();
  if (Result<> counted = count_memory_values(range, key, counts); !counted) return counted.error();
  std::vector<ValueCount> values;
  while (!counts.empty()) {
    auto counted = counts.extract(counts.begin());
    if (!contains_folded(counted.key(), containing)) continue;
    values.push_back({std::move(counted.key()), counted.mapped()});
  }
  std::stable_sort(values.begin(), values.end(),
                   [](const ValueCount& a, const ValueCount& b) { return a.spans > b.spans; });
  if (values.size() > limit) values.resize(limit);
  return values;
}

}  // namespace fathom::store
