#include "store/verify/list_check.h"

#include <algorithm>
#include <optional>

#include "base/hash.h"
#include "base/text.h"
#include "store/rocks/keys.h"
#include "store/verify/row_scan.h"

namespace fathom::store {

namespace {

constexpr const char* kLists = "slow lists";
constexpr const char* kCells = "latency cells";

// Of slow(): tenant, partition, by, level, scope, scope id, cell.
constexpr size_t kSlowKeyBytes = 4 + 4 + 1 + 1 + 1 + 4 + 4;
// Of latency(): tenant, partition, level, cell, operation.
constexpr size_t kLatencyKeyBytes = 4 + 4 + 1 + 4 + 4;
constexpr size_t kLevelAt = 8;

std::string list_place(std::string_view key) {
  if (key.size() != kSlowKeyBytes) return "a key of " + plural(key.size(), "byte");
  const char* kScopes[] = {"everything", "service", "operation"};
  const auto scope = std::min<uint8_t>(static_cast<uint8_t>(key[10]), 2);
  return std::string("list of ") + (key[8] == 0 ? "traces" : "spans") + " of " + kScopes[scope] + " " +
         std::to_string(load_be32(key.data() + 11)) + ", " + (key[9] == 0 ? "minute " : "hour ") +
         std::to_string(keys::last_be32(key)) + ", partition " + std::to_string(keys::partition_of(key));
}

std::string cell_place(std::string_view key) {
  if (key.size() != kLatencyKeyBytes) return "a key of " + plural(key.size(), "byte");
  return std::string("cell of operation ") + std::to_string(keys::last_be32(key)) + ", " +
         (key[kLevelAt] == 0 ? "minute " : "hour ") + std::to_string(load_be32(key.data() + 9)) + ", partition " +
         std::to_string(keys::partition_of(key));
}

uint64_t entry_hash(std::string_view key, const SlowEntry& entry) {
  std::string bytes(key);
  ByteWriter out(bytes);
  out.u64(entry.duration_nano);
  out.u64(entry.start_unix_nano);
  out.raw(entry.trace_id.view());
  out.raw(entry.span_id.view());
  return hash64(bytes);
}

bool is_listed(const SlowList& list, const SlowEntry& entry) {
  return std::ranges::any_of(list.entries, [&](const SlowEntry& listed) {
    if (listed.key() == entry.key()) return true;
    // Of a trace only the latest summary is listed (store/index/slow_list.h).
    if (!entry.span_id.is_zero() || listed.trace_id != entry.trace_id) return false;
    return listed.first_sequence > entry.first_sequence || listed.duration_nano >= entry.duration_nano;
  });
}

std::string hour_key(std::string_view minute_key) {
  std::string key(minute_key);
  std::string hour;
  append_be32(hour, load_be32(key.data() + kLevelAt + 1) / 60);
  key[kLevelAt] = static_cast<char>(keys::Level::kHour);
  return key.replace(kLevelAt + 1, 4, hour);
}

}  // namespace

Result<> list_covers(const SlowList& stored, const SlowList& part) {
  for (const SlowEntry& entry : part.entries) {
    if (stored.truncated && entry.duration_nano <= stored.floor_nano) break;
    if (!is_listed(stored, entry)) {
      return corrupt("trace " + entry.trace_id.hex() + " with " + std::to_string(entry.duration_nano) +
                     " ns is longer than the floor and not listed");
    }
  }
  if (part.truncated && (!stored.truncated || stored.floor_nano < part.floor_nano)) {
    return corrupt("the floor is lower than a duration that is not listed");
  }
  return {};
}

bool cell_covers(const LatencyCell& stored, const LatencyCell& part) {
  auto at = stored.durations.buckets().begin();
  const auto end = stored.durations.buckets().end();
  for (const auto& [bucket, count] : part.durations.buckets()) {
    while (at != end && at->first < bucket) ++at;
    if (at == end || at->first != bucket || at->second < count) return false;
  }
  return stored.errors >= part.errors && stored.durations.max_nano() >= part.durations.max_nano();
}

ListCheck::ListCheck(Database& database, SealedReader& reader, Findings& findings, uint32_t partition)
    : database_(database), reader_(reader), findings_(findings), partition_(partition) {
  load_entries();
}

void ListCheck::load_entries() {
  const std::string begin = keys::partition(partition_), end = keys::partition(partition_ + 1);
  auto remember = [this](std::string_view key, std::string_view value) {
    findings_.checked(kLists);
    Result<SlowList> list = SlowList::decode(value);
    if (key.size() != kSlowKeyBytes || !list) {
      return damaged_list(key, list ? "the key has an unknown form" : list.error().message);
    }
    for (const SlowEntry& entry : list->entries) {
      all_entries_ &= unsupported_.size() < kMostEntries;
      if (all_entries_) unsupported_.insert(entry_hash(key, entry));
    }
  };
  RowScan::run(database_, Family::kSlow, begin, end, remember, [this](const RowGap& gap) {
    findings_.damaged({kLists, "partition " + std::to_string(partition_), gap.reason});
  });
}

void ListCheck::add(const IndexBuilder& segment) {
  for (const auto& [key, operand] : segment.slow_operands()) {
    Result<SlowList> part = SlowList::decode(operand);
    if (!part) continue;
    check_covered(key, *part);
    for (const SlowEntry& entry : part->entries) unsupported_.erase(entry_hash(key, entry));
  }
  for (const auto& [key, operand] : segment.latency_operands()) {
    if (Result<LatencyCell> part = LatencyCell::decode(operand); part) expected_[key].merge(*part);
  }
}

void ListCheck::check_covered(const std::string& key, const SlowList& part) {
  std::string value;
  const rocksdb::Status status =
      database_.db().Get(rocksdb::ReadOptions(), database_.family(Family::kSlow), key, &value);
  if (status.IsNotFound()) return damaged_list(key, "the list is missing");
  if (!status.ok()) return unreadable_.add(list_place(key) + ": " + status.ToString());
  Result<SlowList> stored = SlowList::decode(value);
  if (!stored) return;  // load_entries() has reported it
  Result<> covered = list_covers(*stored, part);
  if (!covered) damaged_list(key, covered.error().message);
}

void ListCheck::finish(bool complete) {
  if (!all_entries_) {
    findings_.note("partition " + std::to_string(partition_) + " has more than " + std::to_string(kMostEntries) +
                   " entries in slow lists; the rest were checked against their floors only");
  }
  if (complete && !unsupported_.empty()) {
    RowScan::run(
        database_, Family::kSlow, keys::partition(partition_), keys::partition(partition_ + 1),
        [this](std::string_view key, std::string_view value) {
          if (Result<SlowList> list = SlowList::decode(value); list) check_list(key, *list);
        },
        [](const RowGap&) {});
  }
  if (unreadable_.count > 0) {
    findings_.damaged({kLists, "partition " + std::to_string(partition_),
                       "reading a list failed " + plural(unreadable_.count, "time") + "; first: " + unreadable_.first});
  }
  check_cells(complete);
}

void ListCheck::check_list(std::string_view key, const SlowList& list) {
  for (const SlowEntry& entry : list.entries) {
    if (!unsupported_.contains(entry_hash(key, entry)) || is_supported(key, entry)) continue;
    return damaged_list(key, "trace " + entry.trace_id.hex() + " is listed with " +
                                 std::to_string(entry.duration_nano) + " ns, which none of its spans has");
  }
}

// A trace that grew is also listed under operations of its older spans, so its entry is not among those of a segment.
bool ListCheck::is_supported(std::string_view, const SlowEntry& entry) {
  Result<bool> found = entry.span_id.is_zero() ? find_summary(entry) : find_span(entry);
  return !found || *found;  // damage is reported where it is
}

Result<bool> ListCheck::find_span(const SlowEntry& entry) {
  Result<std::vector<TracePart>> parts = reader_.parts(entry.trace_id);
  if (!parts) return parts.error();
  for (const TracePart& part : *parts) {
    if (part.partition != partition_) continue;
    Result<std::vector<TraceRow>> rows = reader_.rows(entry.trace_id, part);
    reader_.close(part.segment);
    if (!rows) return rows.error();
    const bool found = std::ranges::any_of(*rows, [&](const TraceRow& row) {
      return row.span_id == entry.span_id && row.start_unix_nano == entry.start_unix_nano &&
             row.duration_nano == entry.duration_nano;
    });
    if (found) return true;
  }
  return false;
}

// The blocks keep a trace's summaries as they were, which retention may have corrected in the index since.
Result<bool> ListCheck::find_summary(const SlowEntry& entry) {
  Result<std::vector<TracePart>> parts = reader_.parts(entry.trace_id);
  if (!parts) return parts.error();
  for (const TracePart& part : *parts) {
    if (part.partition != partition_) continue;
    Result<LocatedPart> located = reader_.locate(entry.trace_id, part);
    if (!located) return located.error();
    for (const RowRange& range : located->ranges) {
      Result<std::span<const BlockTrace>> traces = located->reader->traces(range.block);
      if (!traces) return traces.error();
      const auto trace = std::ranges::find(*traces, entry.trace_id, &BlockTrace::id);
      if (trace != traces->end() && trace->summary.duration_nano == entry.duration_nano &&
          trace->summary.start_unix_nano == entry.start_unix_nano) {
        return true;
      }
    }
    reader_.close(part.segment);
  }
  return false;
}

void ListCheck::check_cells(bool complete) {
  auto check = [this](std::string_view key, std::string_view value) {
    findings_.checked(kCells);
    Result<LatencyCell> cell = LatencyCell::decode(value);
    if (key.size() != kLatencyKeyBytes || !cell) {
      return damaged_cell(key, cell ? "the key has an unknown form" : cell.error().message);
    }
    check_cell(std::string(key), *cell);
  };
  bool gaps = false;
  RowScan::run(database_, Family::kLatency, keys::partition(partition_), keys::partition(partition_ + 1), check,
               [&](const RowGap& gap) {
                 gaps = true;
                 findings_.damaged({kCells, "partition " + std::to_string(partition_), gap.reason});
               });
  if (gaps) return;
  if (complete) {
    for (const auto& [key, cell] : expected_) damaged_cell(key, "the cell is missing");
  }
  check_hours();
}

void ListCheck::check_cell(const std::string& key, const LatencyCell& stored) {
  const auto expected = expected_.find(key);
  if (expected != expected_.end()) {
    if (!cell_covers(stored, expected->second)) damaged_cell(key, "it counts fewer spans than its segments have");
    expected_.erase(expected);
  }
  if (key[kLevelAt] == static_cast<char>(keys::Level::kMinute)) {
    hours_[hour_key(key)].merge(stored);
  } else {
    stored_hours_[key] = stored;
  }
}

void ListCheck::check_hours() {
  for (const auto& [key, sum] : hours_) {
    const auto stored = stored_hours_.find(key);
    if (stored == stored_hours_.end()) {
      damaged_cell(key, "the cell of the hour is missing");
    } else if (!(stored->second == sum)) {
      damaged_cell(key, "it is not the sum of its minutes");
    }
  }
}

void ListCheck::damaged_list(std::string_view key, const std::string& reason) {
  findings_.damaged({kLists, list_place(key), reason});
}

void ListCheck::damaged_cell(std::string_view key, const std::string& reason) {
  findings_.damaged({kCells, cell_place(key), reason});
}

}  // namespace fathom::store
