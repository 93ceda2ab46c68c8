#include "store/verify/index_check.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "store/rocks/keys.h"
#include "store/rocks/scan_options.h"
#include "store/verify/row_scan.h"

namespace fathom::store {

namespace {

constexpr const char* kTraceIndex = "trace index";
constexpr const char* kNotes = "retention notes";

class TraceIndexCheck {
 public:
  TraceIndexCheck(const LivePartitions& live, const View& view, Findings& findings)
      : live_(live), view_(view), findings_(findings) {}

  void check(std::string_view key, std::string_view value) {
    keys::TracePlace place{};
    if (!keys::parse_trace(key, place)) return damaged(key, "the key has an unknown form");
    if (!live_.is_live(place.partition)) return;  // compaction has yet to remove it
    const SegmentInfoPtr segment = view_.segment(place.segment);
    if (!segment || segment->partition != place.partition) {
      return damaged(key, "it names segment " + std::to_string(place.segment) + ", which has no record");
    }
    if (Result<TracePart> part = decode_trace_part_value(value); !part) return damaged(key, part.error().message);
    ++rows_[place.segment];
  }

  // Only if all rows were read.
  void finish() {
    for (const SegmentInfoPtr& segment : view_.segments) {
      const uint64_t rows = rows_[segment->id];
      if (rows == segment->traces) continue;
      findings_.damaged({kTraceIndex, "segment " + std::to_string(segment->id),
                         "the index has " + plural(rows, "row") + " for its " + plural(segment->traces, "trace")});
    }
  }

 private:
  void damaged(std::string_view key, const std::string& reason) {
    const std::optional<TraceId> id = keys::trace_id(key);
    findings_.damaged({kTraceIndex, id ? "trace " + id->hex() : "a key of another size", reason});
  }

  const LivePartitions& live_;
  const View& view_;
  Findings& findings_;
  std::map<uint32_t, uint64_t> rows_;
};

class NotesCheck {
 public:
  NotesCheck(const LivePartitions& live, SealedReader& reader, Findings& findings)
      : live_(live), reader_(reader), findings_(findings) {}

  void check_straddle(std::string_view key) {
    const std::optional<TraceId> id = begin(key);
    if (!id || !live_.is_live(keys::partition_of(key))) return;
    Result<std::vector<TracePart>> parts = reader_.parts(*id);
    if (!parts) return damaged(*id, parts.error().message);
    // All of its later spans may have been repetitions, which are not stored.
    const bool here = std::ranges::find(*parts, keys::partition_of(key), &TracePart::partition) != parts->end();
    if (!here) damaged(*id, "the trace has no spans in the partition of the note");
  }

  void check_corrected(std::string_view key, std::string_view value) {
    const std::optional<TraceId> id = begin(key);
    if (!id || !live_.is_live(keys::partition_of(key))) return;
    if (Result<TracePart> part = decode_trace_part_value(value); !part) return damaged(*id, part.error().message);
    Result<std::vector<TracePart>> parts = reader_.parts(*id);
    if (!parts) return damaged(*id, parts.error().message);
    if (parts->empty()) damaged(*id, "no span of the trace is stored");
  }

 private:
  std::optional<TraceId> begin(std::string_view key) {
    findings_.checked(kNotes);
    const std::optional<TraceId> id = keys::straddle_trace(key);
    if (!id) findings_.damaged({kNotes, "a key of another size", "the key has an unknown form"});
    return id;
  }
  void damaged(const TraceId& id, const std::string& reason) {
    findings_.damaged({kNotes, "trace " + id.hex(), reason});
  }

  const LivePartitions& live_;
  SealedReader& reader_;
  Findings& findings_;
};

RowScan::OnGap report_gap(const char* part, const std::string& place, Findings& findings) {
  return [=, &findings](const RowGap& gap) { findings.damaged({part, place, gap.reason}); };
}

// Hops from one beginning of keys to the next, `size` bytes each; damage is found elsewhere.
void for_each_prefix(Database& database, Family family, const std::string& begin, size_t size,
                     const std::function<void(const std::string&)>& visit) {
  rocksdb::ReadOptions options = scan_options();
  options.total_order_seek = true;
  std::unique_ptr<rocksdb::Iterator> rows(database.db().NewIterator(options, database.family(family)));
  for (rows->Seek(begin); rows->Valid();) {
    std::string prefix = rows->key().ToString().substr(0, size);
    prefix.resize(size, '\0');
    visit(prefix);
    rows->Seek(prefix + std::string(32, '\xff'));
  }
}

}  // namespace

void check_trace_index(Database& database, const LivePartitions& live, const View& view, Findings& findings) {
  TraceIndexCheck check(live, view, findings);
  bool complete = true;
  RowScan::run(
      database, Family::kTrace, "", "", [&](std::string_view key, std::string_view value) { check.check(key, value); },
      [&](const RowGap& gap) {
        complete = false;
        findings.damaged({kTraceIndex, "rows between two intact ones", gap.reason});
      });
  if (complete) check.finish();
}

void check_notes(Database& database, const LivePartitions& live, SealedReader& reader, Findings& findings) {
  NotesCheck check(live, reader, findings);
  RowScan::run(
      database, Family::kStraddle, "", "", [&](std::string_view key, std::string_view) { check.check_straddle(key); },
      report_gap(kNotes, "traces over several partitions", findings));
  RowScan::run(
      database, Family::kCorrected, "", "",
      [&](std::string_view key, std::string_view value) { check.check_corrected(key, value); },
      report_gap(kNotes, "corrected summaries", findings));
}

void check_orphans(Database& database, const LivePartitions& live, const View& view, Findings& findings) {
  const std::string begin = keys::partition(live.oldest());
  for_each_prefix(database, Family::kBlock, begin, keys::segment(0, 0).size(), [&](const std::string& prefix) {
    const SegmentInfoPtr segment = view.segment(keys::last_be32(prefix));
    if (segment && segment->partition == keys::partition_of(prefix)) return;
    findings.damaged({"segments",
                      "segment " + std::to_string(keys::last_be32(prefix)) + " of partition " +
                          std::to_string(keys::partition_of(prefix)),
                      "its blocks are stored and its record is missing"});
  });
  std::set<uint32_t> partitions;
  for (const SegmentInfoPtr& segment : view.segments) partitions.insert(segment->partition);
  for (const Family family : {Family::kSlow, Family::kLatency}) {
    for_each_prefix(database, family, begin, keys::partition(0).size(), [&](const std::string& prefix) {
      if (partitions.contains(keys::partition_of(prefix))) return;
      findings.damaged({family == Family::kSlow ? "slow lists" : "latency cells",
                        "partition " + std::to_string(keys::partition_of(prefix)), "no segment of it has a record"});
    });
  }
}

}  // namespace fathom::store
