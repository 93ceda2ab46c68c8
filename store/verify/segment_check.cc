#include "store/verify/segment_check.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "store/rocks/keys.h"
#include "store/rocks/sealed_tally.h"
#include "store/span.h"

namespace fathom::store {

namespace {

// The rows of a trace with more spans are not read again for each check of its newest summary.
constexpr uint64_t kMostRowsOfTrace = 1 << 20;

Error disagree(const std::string& what) {
  return corrupt(what);
}

bool are_sorted(const BlockZone& zone, const BlockTimes& times) {
  return times.start_unix_nano.size() == zone.rows && times.operation.size() == zone.rows;
}

Affected of_block(const SegmentInfo& info, const BlockZone& zone) {
  return {.received = TimeRange{info.first_received_unix_nano, info.last_received_unix_nano + 1},
          .started = TimeRange{zone.min_start_unix_nano, end_of(zone.max_start_unix_nano, 1)},
          .spans = zone.rows,
          .traces = zone.traces};
}

// Whether the newest part of an oversized trace says what `sum` says, the sum of the tallies of all `parts` parts.
Result<> tallies_hold(const TracePart& newest, const TraceTally& sum, size_t parts) {
  TraceSummary expected = sum.summary();
  if (!(newest.tallies->whole.summary() == expected))
    return disagree("its tally is not the sum of its segments' tallies");
  expected.grown = parts > 1;
  expected.oversized = true;
  return newest.summary == expected ? Result<>() : disagree("its summary is not that of its tally");
}

}  // namespace

bool summary_holds(const TraceSummary& stored, const std::vector<TraceRow>& rows) {
  TraceSummary expected = summarise(rows);
  expected.grown = stored.grown;
  expected.oversized = stored.oversized;
  if (stored.oversized) expected.complete = false;
  return expected == stored;
}

std::string SegmentCheck::place() const {
  return "segment " + std::to_string(info_->id) + " of partition " + std::to_string(info_->partition);
}

Affected SegmentCheck::whole() const {
  return {.received = TimeRange{info_->first_received_unix_nano, info_->last_received_unix_nano + 1},
          .started = TimeRange{info_->min_start_unix_nano, end_of(info_->max_start_unix_nano, 1)},
          .spans = info_->rows,
          .traces = info_->traces};
}

bool SegmentCheck::check(const SegmentInfo& info, IndexBuilder& index) {
  info_ = &info;
  index_ = &index;
  sums_ = {};
  open_.reset();
  behind_damage_ = false;
  grown_.clear();
  trace_faults_ = {};
  unchecked_traces_ = 0;
  findings_.checked("segments");
  if (info.rows == 0) return true;  // all of its rows were repetitions; it has only latencies
  Result<SegmentReader*> segment = reader_.segment(info);
  if (!segment) {
    findings_.damaged({"segments", place() + ", directory", segment.error().message, whole()});
    return false;
  }
  check_directory((*segment)->directory());
  bool all = true;
  for (uint32_t block = 0; block < (*segment)->directory().block_count(); ++block) {
    all &= check_block(**segment, block);
  }
  close_trace();
  report("trace index", "traces that do not agree with the trace index", trace_faults_, info.traces);
  if (all) check_sums();
  if (all) check_grown();
  if (unchecked_traces_ > 0) {
    findings_.note(place() + ": not compared with their rows: the summaries of " + plural(unchecked_traces_, "trace") +
                   " with more than " + plural(kMostRowsOfTrace, "span"));
  }
  reader_.close(info.id);
  return all;
}

void SegmentCheck::check_directory(const SegmentDirectory& directory) {
  if (directory.rows() == info_->rows && directory.traces() == info_->traces) return;
  findings_.damaged({"segments", place(),
                     "the record says " + plural(info_->rows, "span") + " of " + plural(info_->traces, "trace") +
                         ", the directory " + group_digits(directory.rows()) + " of " +
                         group_digits(directory.traces()),
                     whole()});
}

bool SegmentCheck::check_block(SegmentReader& segment, uint32_t block) {
  findings_.checked("blocks");
  met_.clear();
  Result<> read = read_block(segment, block);
  if (read) return true;
  findings_.damaged({"blocks", place() + ", block " + std::to_string(block), read.error().message,
                     of_block(*info_, segment.directory().zone(block))});
  open_.reset();  // its rows are not complete, and the rows of the next block's first trace may not be, either
  behind_damage_ = true;
  return false;
}

Result<> SegmentCheck::read_block(SegmentReader& segment, uint32_t block) {
  const BlockZone& zone = segment.directory().zone(block);
  Result<StoredRows> rows = segment.rows(block, 0, zone.rows);
  if (!rows) return rows.error();
  Result<BlockTimes> times = segment.times(block);
  if (!times) return times.error();
  Result<BlockIds> ids = segment.ids(block);
  if (!ids) return ids.error();
  if (rows->rows.size() != zone.rows || ids->span.size() != zone.rows) return disagree("the columns disagree");
  if (Result<> holds = check_zone(zone, *times); !holds) return holds;
  for (const StoredRow& row : rows->rows) {
    if (Result<> sound = check_row(row); !sound) return sound;
    if (Result<> found = check_filter(segment, block, row); !found) return found;
  }
  Result<std::span<const BlockTrace>> traces = segment.traces(block);
  if (!traces) return traces.error();
  for (const BlockTrace& trace : *traces) add_rows(trace, *times, *ids, block);
  return {};
}

Result<> SegmentCheck::check_zone(const BlockZone& zone, const BlockTimes& times) {
  if (!are_sorted(zone, times)) return disagree("the columns disagree");
  const auto [first, last] = std::ranges::minmax(times.start_unix_nano);
  const auto [oldest, newest] = std::ranges::minmax(times.sequence);
  std::vector<uint32_t> operations = times.operation;
  std::ranges::sort(operations);
  operations.erase(std::unique(operations.begin(), operations.end()), operations.end());
  const bool holds = first == zone.min_start_unix_nano && last == zone.max_start_unix_nano &&
                     oldest == zone.min_sequence && newest == zone.max_sequence && operations == zone.operations &&
                     std::ranges::max(times.duration_nano) == zone.max_span_duration_nano &&
                     (std::ranges::max(times.error) != 0) == zone.errors;
  if (!holds) return disagree("the directory's bounds of the block are not those of its rows");
  if (oldest < info_->first_sequence || newest > info_->last_sequence) {
    return disagree("a row belongs to a batch that the segment's record does not name");
  }
  return {};
}

Result<> SegmentCheck::check_row(const StoredRow& row) {
  const OperationKey known = catalogue_.operation(row.operation);
  const bool is_other = known.operation == kOtherOperation || known.service == kOtherOperation;
  if (is_other || (known.operation == row.span.name && known.kind == row.span.kind &&
                   known.service == service_name(row.resource))) {
    return {};
  }
  return disagree("a span '" + std::string(row.span.name) + "' names operation " + std::to_string(row.operation) +
                  ", which is missing or has another name");
}

Result<> SegmentCheck::check_filter(SegmentReader& segment, uint32_t block, const StoredRow& row) {
  if (Result<> found = check_filter(segment, block, row.span.attributes); !found) return found;
  return check_filter(segment, block, row.resource.attributes);
}

Result<> SegmentCheck::check_filter(SegmentReader& segment, uint32_t block, std::span<const AttributeView> attributes) {
  for (const AttributeView& attribute : attributes) {
    const std::string text = value_text(attribute.value);
    if (!met_.insert(hash64(text, hash64(attribute.key))).second) continue;
    Result<FilterHalves> may = segment.may_contain(block, attribute.key, text);
    if (!may) return may.error();
    if (!may->any()) return disagree("the filter lacks the attribute " + std::string(attribute.key));
  }
  return {};
}

void SegmentCheck::add_rows(const BlockTrace& trace, const BlockTimes& times, const BlockIds& ids, uint32_t block) {
  if (!open_ || open_->id != trace.id) {
    close_trace();
    open_ = OpenTrace{trace.id, block, trace.summary, {}, std::exchange(behind_damage_, false)};
  }
  for (uint32_t at = trace.first_row; at < trace.first_row + trace.row_count; ++at) {
    const TraceRow row{ids.span[at],       ids.parent[at],      times.start_unix_nano[at], times.duration_nano[at],
                       times.sequence[at], times.operation[at], times.error[at] != 0};
    open_->rows.push_back(row);
    index_->add_span(row.operation, {row.duration_nano, row.start_unix_nano, trace.id, row.span_id, row.sequence,
                                     row.operation, row.error});
    index_->add_latency(row.operation, row.start_unix_nano, row.duration_nano, row.error);
    sums_.min_start_unix_nano = std::min(sums_.min_start_unix_nano, row.start_unix_nano);
    sums_.max_start_unix_nano = std::max(sums_.max_start_unix_nano, row.start_unix_nano);
    sums_.max_span_duration_nano = std::max(sums_.max_span_duration_nano, row.duration_nano);
  }
  sums_.rows += trace.row_count;
}

void SegmentCheck::close_trace() {
  if (!open_) return;
  const OpenTrace trace = *std::exchange(open_, std::nullopt);
  ++sums_.traces;
  if (!trace.summary.oversized) {
    if (!is_corrected(trace.id)) {
      sums_.min_start_unix_nano = std::min(sums_.min_start_unix_nano, trace.summary.start_unix_nano);
    }
    sums_.max_trace_duration_nano = std::max(sums_.max_trace_duration_nano, trace.summary.duration_nano);
  }
  if (trace.summary.grown) grown_.push_back(trace.id);
  if (!trace.partial) check_trace(trace);
}

void SegmentCheck::check_trace(const OpenTrace& trace) {
  findings_.checked("trace index");
  if (!trace.summary.oversized) expect_listed(trace);  // lists do not have oversized traces
  if (Result<> checked = check_index(trace); !checked) {
    trace_faults_.add("trace " + trace.id.hex() + ": " + checked.error().message);
  }
}

void SegmentCheck::expect_listed(const OpenTrace& trace) {
  const TraceSummary& summary = trace.summary;
  const SlowEntry entry{summary.duration_nano,  summary.start_unix_nano, trace.id,     SpanId{},
                        summary.first_sequence, summary.root_operation,  summary.error};
  std::vector<uint32_t> operations;
  for (const TraceRow& row : trace.rows) operations.push_back(row.operation);
  std::ranges::sort(operations);
  operations.erase(std::unique(operations.begin(), operations.end()), operations.end());
  for (const uint32_t operation : operations) index_->add_trace(operation, entry);
}

Result<> SegmentCheck::check_index(const OpenTrace& trace) {
  Result<std::optional<TracePart>> part = reader_.part_from(trace.id, info_->partition, info_->id);
  if (!part) return part.error();
  if (!*part || (*part)->segment != info_->id || (*part)->partition != info_->partition) {
    return disagree("the index has no row for it");
  }
  if (Result<> checked = check_part(trace, **part); !checked) return checked;
  Result<std::optional<TracePart>> newest = reader_.newest_part(trace.id);
  if (!newest) return newest.error();
  if (!*newest || (*newest)->segment != info_->id) return {};
  return (*newest)->tallies ? check_tallies(trace.id, **newest) : check_newest(trace);
}

// The trace index has a row for this segment that says what the block says, unless retention corrected it.
Result<> SegmentCheck::check_part(const OpenTrace& trace, const TracePart& part) {
  if (part.first_block != trace.first_block) return disagree("the index names another block");
  if (part.tallies) return check_own_tally(trace, *part.tallies);
  if (!(part.summary == trace.summary) && !is_corrected(trace.id)) {
    return disagree("the index and the block have different summaries");
  }
  if (!trace.summary.grown && !summary_holds(trace.summary, trace.rows)) {
    return disagree("its summary is not that of its spans");
  }
  return {};
}

// Retention corrects summaries of oversized traces, and never the tally of a part alone.
Result<> SegmentCheck::check_own_tally(const OpenTrace& trace, const PartTallies& tallies) {
  TraceTally own;
  for (const TraceRow& row : trace.rows) own.add(row);
  const bool holds = !tallies.own.empty() && tallies.own.summary() == own.summary();
  return holds ? Result<>() : disagree("its tally is not that of its spans");
}

// The newest tally of an oversized trace speaks for all of its segments.
Result<> SegmentCheck::check_tallies(const TraceId& id, const TracePart& newest) {
  if (!reader_.is_live(newest.tallies->first_partition)) return {};  // retention has yet to correct it
  TraceTally sum;
  size_t parts = 0;
  Result<> visited = reader_.visit_parts(id, [&](const TracePart& part) -> Result<bool> {
    Result<TraceTally> own = tally_of_part(reader_, id, part);
    if (!own) return own.error();
    sum.add(*own);
    ++parts;
    return true;
  });
  return visited ? tallies_hold(newest, sum, parts) : visited;
}

// The newest summary speaks for all spans of the trace.
Result<> SegmentCheck::check_newest(const OpenTrace& trace) {
  Result<std::vector<TracePart>> found = reader_.parts(trace.id);
  if (!found) return found.error();
  const std::vector<TracePart>& parts = *found;
  const TraceSummary& stored = parts.back().summary;
  if (stored.grown != (parts.size() > 1))
    return disagree("its summary does not say whether older segments have spans of it");
  if (parts.size() == 1)
    return summary_holds(stored, trace.rows) ? Result<>() : disagree("its summary is not that of its spans");
  if (stored.spans > kMostRowsOfTrace) {
    ++unchecked_traces_;
    return {};
  }
  std::vector<TraceRow> rows = trace.rows;
  for (const TracePart& part : parts) {
    if (part.segment == info_->id) continue;
    Result<std::vector<TraceRow>> older = reader_.rows(trace.id, part);
    reader_.close(part.segment);
    if (!older) return older.error();
    rows.insert(rows.end(), older->begin(), older->end());
  }
  return summary_holds(stored, rows) ? Result<>() : disagree("its summary is not that of its spans");
}

bool SegmentCheck::is_corrected(const TraceId& id) const {
  return reader_.view().corrections->may_contain(id);
}

void SegmentCheck::check_grown() {
  Result<> checked = check_grown_list();
  if (!checked) findings_.damaged({"segments", place() + ", grown traces", checked.error().message});
}

Result<> SegmentCheck::check_grown_list() {
  Result<GrownTraces> grown = reader_.grown(*info_);
  if (!grown) return grown.error();
  std::vector<TraceId> listed;
  for (const GrownTrace& trace : grown->traces()) {
    listed.push_back(trace.id);
    for (const OlderPlace& place : grown->places(trace)) {
      const SegmentInfoPtr older = reader_.view().segment(place.segment);
      if (place.segment >= info_->id) return disagree("a place is not in an older segment");
      if (older && older->partition != place.partition) return disagree("a place names a segment of another partition");
    }
  }
  return listed == grown_ ? Result<>() : disagree("it does not list the traces that its blocks say have grown");
}

void SegmentCheck::check_sums() {
  const bool holds = sums_.rows == info_->rows && sums_.traces == info_->traces &&
                     sums_.min_start_unix_nano >= info_->min_start_unix_nano &&
                     sums_.max_start_unix_nano <= info_->max_start_unix_nano &&
                     sums_.max_span_duration_nano == info_->max_span_duration_nano &&
                     sums_.max_trace_duration_nano == info_->max_trace_duration_nano;
  if (!holds) findings_.damaged({"segments", place(), "its record is not that of its spans", whole()});
}

void SegmentCheck::report(const std::string& part, const std::string& what, const Tally& tally, uint64_t of) {
  if (tally.count == 0) return;
  findings_.damaged(
      {part, place(), what + ": " + group_digits(tally.count) + " of " + group_digits(of) + "; first: " + tally.first});
}

}  // namespace fathom::store
