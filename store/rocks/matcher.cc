#include "store/rocks/matcher.h"

#include <algorithm>
#include <numeric>

namespace fathom::store {

std::vector<uint32_t> all_rows(uint32_t rows) {
  std::vector<uint32_t> all(rows);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

namespace {

std::vector<uint32_t> without(const std::vector<uint32_t>& rows, const std::vector<uint32_t>& others) {
  std::vector<uint32_t> left;
  std::ranges::set_difference(rows, others, std::back_inserter(left));
  return left;
}

// Of one value; whether any other has it, too, is the rows' affair.
ValueTest test_of(const Condition& condition) {
  if (!condition.is_range()) return {"", [](const ValueView&) { return true; }};
  const char type = condition.bound.type == ValueType::kInt ? 'i' : 'd';
  return {std::string(compare_text(condition.compare)) + type + std::to_string(condition.bound.bits),
          [&condition](const ValueView& value) { return condition.in_range(value); }};
}

}  // namespace

Matcher::Matcher(const Filter& filter, const Catalogue& catalogue) : filter_(filter) {
  if (filter.service || filter.operation) operations_ = catalogue.operations(filter.service, filter.operation);
}

bool Matcher::operation_matches(uint32_t operation) const {
  return !operations_ || std::binary_search(operations_->begin(), operations_->end(), operation);
}

bool Matcher::row_matches(const Generation& generation, const Generation::Row& row) {
  if (filter_.errors && !row.error) return false;
  if (!operation_matches(row.operation)) return false;
  if (filter_.where.empty()) return true;
  const Batch& batch = generation.batch(row);
  const Batch::Row& stored = generation.stored(row);
  SpanView span = batch.span(stored, scratch_);
  const ResourceView& resource = batch.resource(stored.resource);
  return std::all_of(filter_.where.begin(), filter_.where.end(), [&](const Condition& condition) {
    return holds(condition, span.attributes, resource.attributes);
  });
}

bool Matcher::any_row(const Generation& generation, const Generation::Trace& trace, uint64_t last_sequence) {
  for (uint32_t at = trace.first_row; at != Generation::kNone; at = generation.rows()[at].next) {
    const Generation::Row& row = generation.rows()[at];
    if (generation.sequence(row) <= last_sequence && row_matches(generation, row)) return true;
  }
  return false;
}

Result<FilterHalves> Matcher::may_match(SegmentReader& reader, uint32_t block) const {
  if (!may_match(reader.directory().zone(block))) return FilterHalves{};
  FilterHalves all{true, true};
  for (const Condition& condition : filter_.where) {
    Result<FilterHalves> one = may_meet(reader, block, condition);
    if (!one) return one;
    all = {all.slow && one->slow, all.rest && one->rest};
    if (!all.any()) break;
  }
  return all;
}

// Filters know of single values; of all else it is known only which segments have the key at all.
Result<FilterHalves> Matcher::may_meet(SegmentReader& reader, uint32_t block, const Condition& condition) {
  if (condition.compare != Compare::kEqual) {
    const bool may = condition.compare == Compare::kLacks || reader.directory().may_have_key(condition.key);
    return FilterHalves{may, may};
  }
  Result<> asked;
  FilterHalves either;
  condition.any_of([&](const std::string& key, const std::string& value) {
    Result<FilterHalves> has = reader.may_contain(block, key, value);
    if (!has) asked = has.error();
    if (has) either = {either.slow || has->slow, either.rest || has->rest};
    return !has || (either.slow && either.rest);
  });
  if (!asked) return asked.error();
  return either;
}

bool Matcher::may_match(const BlockZone& zone) const {
  if (filter_.errors && !zone.errors) return false;
  if (!operations_) return true;
  return std::any_of(zone.operations.begin(), zone.operations.end(),
                     [this](uint32_t operation) { return operation_matches(operation); });
}

bool Matcher::all_operations_match(const BlockZone& zone) const {
  if (!operations_) return true;
  return std::all_of(zone.operations.begin(), zone.operations.end(),
                     [this](uint32_t operation) { return operation_matches(operation); });
}

Result<const std::vector<uint32_t>*> Matcher::remembered_rows(SegmentReader& reader, uint32_t segment, uint32_t block) {
  auto found = remembered_.find({segment, block});
  if (found != remembered_.end()) return &found->second;
  Result<std::vector<uint32_t>> matched = rows(reader, block);
  if (!matched) return matched.error();
  if (remembered_rows_ > kRememberedRows) {
    remembered_.clear();
    remembered_rows_ = 0;
  }
  remembered_rows_ += matched->size();
  return &remembered_.emplace(std::pair(segment, block), std::move(*matched)).first->second;
}

Result<std::vector<uint32_t>> Matcher::rows_with(SegmentReader& reader, uint32_t block, const Condition& condition) {
  if (condition.compare == Compare::kEqual) return rows_equal(reader, block, condition);
  Result<std::vector<uint32_t>> rows = reader.match_if(block, condition.key, test_of(condition));
  if (!rows) return rows;
  if (condition.compare == Compare::kLacks) return without(all_rows(reader.directory().zone(block).rows), *rows);
  if (condition.compare != Compare::kNotEqual || rows->empty()) return rows;
  Result<std::vector<uint32_t>> equal = rows_equal(reader, block, condition);
  if (!equal) return equal;
  return without(*rows, *equal);
}

Result<std::vector<uint32_t>> Matcher::rows_equal(SegmentReader& reader, uint32_t block, const Condition& condition) {
  Result<std::vector<uint32_t>> rows = reader.match(block, condition.key, condition.value);
  for (const auto& [key, value] : condition.alternatives) {
    if (!rows) return rows;
    Result<FilterHalves> may_contain = reader.may_contain(block, key, value);
    if (!may_contain) return may_contain.error();
    if (!may_contain->any()) continue;  // as most alternatives are nowhere
    Result<std::vector<uint32_t>> more = reader.match(block, key, value);
    if (!more) return more;
    std::vector<uint32_t> either;
    std::set_union(rows->begin(), rows->end(), more->begin(), more->end(), std::back_inserter(either));
    rows = std::move(either);
  }
  return rows;
}

Result<std::vector<uint32_t>> Matcher::rows(SegmentReader& reader, uint32_t block) const {
  const BlockZone& zone = reader.directory().zone(block);
  std::vector<uint32_t> rows;
  Result<FilterHalves> read = may_match(reader, block);
  if (!read) return read.error();
  if (!read->any()) return rows;
  if (filter_.where.empty()) rows = all_rows(zone.rows);
  for (size_t i = 0; i < filter_.where.size(); ++i) {
    Result<std::vector<uint32_t>> matched = rows_with(reader, block, filter_.where[i]);
    if (!matched) return matched.error();
    if (i == 0) {
      rows = std::move(*matched);
    } else {
      std::vector<uint32_t> both;
      std::set_intersection(rows.begin(), rows.end(), matched->begin(), matched->end(), std::back_inserter(both));
      rows = std::move(both);
    }
    if (rows.empty()) return rows;
  }
  if (!filter_.errors && all_operations_match(zone)) return rows;
  return by_times(reader, block, std::move(rows));
}

Result<std::vector<uint32_t>> Matcher::by_times(SegmentReader& reader, uint32_t block,
                                                std::vector<uint32_t> rows) const {
  Result<BlockTimes> times = reader.times(block);
  if (!times) return times.error();
  std::erase_if(rows, [&](uint32_t row) {
    if (row >= times->operation.size() || row >= times->error.size()) return true;
    return (filter_.errors && times->error[row] == 0) || !operation_matches(times->operation[row]);
  });
  return rows;
}

}  // namespace fathom::store
