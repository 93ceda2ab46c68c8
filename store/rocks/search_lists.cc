// The part of Search that reads slow lists: hours first, minutes where an hour proves too little.
#include <algorithm>

#include "store/rocks/counters.h"
#include "store/rocks/keys.h"
#include "store/rocks/scan_options.h"
#include "store/rocks/search.h"

namespace fathom::store {

using keys::Level;
using keys::Scope;

namespace {

// Stands for a list that does not decode: it proves nothing, so the blocks below it are read and the answer stays
// exact.
SlowList unreadable_list() {
  lost_index_values("slow").add();
  SlowList list;
  list.raise_floor(UINT64_MAX);
  return list;
}

}  // namespace

std::vector<Search::Series> Search::series_of(uint32_t partition) const {
  std::vector<Series> series;
  if (filter_.operation) {
    for (uint32_t id : *matcher_.operations()) series.push_back({partition, Scope::kOperation, id});
  } else if (filter_.service) {
    for (uint32_t id : engine_.catalogue.services_named(*filter_.service)) {
      series.push_back({partition, Scope::kService, id});
    }
  } else {
    series.push_back({partition, Scope::kAll, 0});
  }
  return series;
}

Result<> Search::begin_lists() {
  for (uint32_t partition : view_->partitions(filter_.range)) {
    for (const Series& series : series_of(partition)) {
      if (Result<> pushed = push_lists(series, Level::kHour, filter_.range); !pushed) return pushed;
    }
  }
  return {};
}

Result<> Search::push_lists(const Series& series, Level level, const TimeRange& range) {
  if (range.to_unix_nano == 0) return {};
  rocksdb::ReadOptions options = scan_options();
  options.snapshot = view_->snapshot.get();
  std::string prefix = keys::slow_series(series.partition, by_, level, series.scope, series.id);
  uint32_t last = keys::cell_of(level, range.to_unix_nano - 1);
  std::string first_key = prefix;
  append_be32(first_key, keys::cell_of(level, range.from_unix_nano));
  Database& database = *engine_.database;
  std::unique_ptr<rocksdb::Iterator> lists(database.db().NewIterator(options, database.family(Family::kSlow)));
  for (lists->Seek(first_key); lists->Valid(); lists->Next()) {
    std::string_view key(lists->key().data(), lists->key().size());
    if (!key.starts_with(prefix) || keys::last_be32(key) > last) break;
    std::string_view value(lists->value().data(), lists->value().size());
    if (Result<> spent = budget_.spend(value.size() + std::exchange(unpaid_bytes_, 0)); !spent) return spent;
    Result<SlowList> list = SlowList::decode(value);
    push_list(series, level, keys::last_be32(key), list ? *list : unreadable_list());
  }
  if (!lists->status().ok()) return from_status(lists->status(), "read the lists of the slowest");
  return {};
}

void Search::push_list(const Series& series, Level level, uint32_t cell, const SlowList& list) {
  for (const SlowEntry& entry : list.entries) push_candidate(entry, false);
  if (!list.truncated || list.floor_nano < filter_.min_duration_nano) return;
  Node rest;
  rest.kind = level == Level::kHour ? Kind::kHourRest : Kind::kMinuteRest;
  rest.bound = floor_bound(list.floor_nano);
  if (slower(rest.bound, first_possible())) rest.bound = first_possible();
  rest.series = series;
  rest.cell = cell;
  heap_.push(std::move(rest));
}

namespace {

TimeRange cell_range(Level level, uint32_t cell) {
  uint64_t from = uint64_t{cell} * keys::level_nano(level);
  return {from, end_of(from, keys::level_nano(level))};
}

TimeRange intersection(const TimeRange& a, const TimeRange& b) {
  return {std::max(a.from_unix_nano, b.from_unix_nano), std::min(a.to_unix_nano, b.to_unix_nano)};
}

}  // namespace

Result<> Search::expand_hour(const Node& node) {
  return push_lists(node.series, Level::kMinute, intersection(filter_.range, cell_range(Level::kHour, node.cell)));
}

// One scan serves all minutes that prove too little by now: blocks usually hold several of them.
Result<> Search::expand_minutes(const Node& node) {
  std::vector<Node> others;
  std::vector<uint32_t> minutes{node.cell};
  while (!heap_.empty()) {
    Node other = heap_.top();
    heap_.pop();
    if (other.kind == Kind::kMinuteRest) {
      minutes.push_back(other.cell);
    } else {
      others.push_back(std::move(other));
    }
  }
  for (Node& other : others) heap_.push(std::move(other));
  std::sort(minutes.begin(), minutes.end());
  minutes.erase(std::unique(minutes.begin(), minutes.end()), minutes.end());
  Node scan;
  scan.kind = Kind::kBlockScan;
  scan.bound = node.bound;
  for (uint32_t minute : minutes) {
    TimeRange range = intersection(filter_.range, cell_range(Level::kMinute, minute));
    if (!scan.ranges.empty() && scan.ranges.back().to_unix_nano == range.from_unix_nano) {
      scan.ranges.back().to_unix_nano = range.to_unix_nano;
    } else {
      scan.ranges.push_back(range);
    }
  }
  return scan_blocks(scan);
}

}  // namespace fathom::store
