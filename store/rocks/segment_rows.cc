#include "store/rocks/segment_rows.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "store/rocks/damaged_reads.h"
#include "store/rocks/older_rows.h"
#include "store/rocks/sealed_tally.h"

namespace fathom::store {

namespace {

// Segments that stay open while rows with repeated ids are compared, for other traces that lie in them too.
constexpr size_t kKeptOpen = 16;
// Finding a part costs as much as reading so many rows.
constexpr uint64_t kPartRows = 8;

// A trace's older rows, and the hashes of those that share an id with a new row. Of a trace that was oversized before:
// the tally instead.
struct Older {
  bool oversized = false;
  bool is_too_costly = false;  // to be read again for the next segment
  TraceTally tally;
  uint32_t first_partition = UINT32_MAX;
  size_t parts = 0;
  std::vector<TraceRow> rows;
  std::vector<OlderPlace> places;
  std::unordered_set<uint64_t> contents;
  std::unordered_set<SpanId, IdHash> repeated_ids;
};

class RowArranger {
 public:
  RowArranger(const Generation& generation, SealedReader& older, const OnUnreadable& on_unreadable)
      : generation_(generation), older_(older), on_unreadable_(on_unreadable) {
    oversized_ = older.oversized().get()->size();
    grown_ = static_cast<uint64_t>(std::ranges::count(generation.traces(), true, &Generation::Trace::grown));
  }

  Result<SegmentRows> arrange() {
    out_.rows.reserve(generation_.rows().size());
    out_.sources.reserve(generation_.rows().size());
    for (const Generation::Trace* trace : sorted_traces()) {
      if (Result<> added = add_trace(*trace); !added) return added.error();
    }
    return std::move(out_);
  }

 private:
  struct Candidate {
    const Generation::Row* row;
    SpanId span_id;
    bool conflicting = false;
    bool dropped = false;
  };

  std::vector<const Generation::Trace*> sorted_traces() const {
    std::vector<const Generation::Trace*> traces;
    traces.reserve(generation_.traces().size());
    for (const Generation::Trace& trace : generation_.traces()) traces.push_back(&trace);
    std::sort(traces.begin(), traces.end(),
              [](const Generation::Trace* a, const Generation::Trace* b) { return a->id < b->id; });
    return traces;
  }

  Result<> add_trace(const Generation::Trace& trace) {
    gather(trace);
    Older older;
    if (trace.grown) {
      if (Result<> loaded = load_readable(trace, older); !loaded) return loaded;
    }
    if (!older.oversized) collapse(older);
    if (is_oversized(older)) keep_beyond_limit(older);
    emit(trace, older);
    return {};
  }

  void gather(const Generation::Trace& trace) {
    candidates_.clear();
    generation_.for_each_row(trace, [&](const Generation::Row& row, uint32_t) {
      candidates_.push_back({&row, generation_.stored(row).span_id});
    });
    std::sort(candidates_.begin(), candidates_.end(), [this](const Candidate& a, const Candidate& b) {
      return std::tuple(a.row->start_unix_nano, a.span_id, generation_.sequence(*a.row), a.row->index) <
             std::tuple(b.row->start_unix_nano, b.span_id, generation_.sequence(*b.row), b.row->index);
    });
  }

  Result<> load_readable(const Generation::Trace& trace, Older& older) {
    Result<> loaded = load_older(trace, older);
    if (loaded || !on_unreadable_ || !is_of_disk(loaded.error().code)) return loaded;
    on_unreadable_(loaded.error());
    older = known_of_unreadable(trace);
    return {};
  }

  // What the trace index has of rows that cannot be read. If it cannot be read either, nothing.
  Older known_of_unreadable(const Generation::Trace& trace) {
    Older older{.oversized = true};
    const Result<std::vector<TracePart>> parts = older_.parts(trace.id);
    if (!parts || parts->empty()) return older;
    for (const TracePart& part : *parts) {
      if (part.partition != generation_.partition()) out_.straddling.emplace(part.partition, trace.id);
    }
    const TracePart& newest = parts->back();
    older.tally = newest.tallies ? newest.tallies->whole : tally_of(newest.summary);
    older.first_partition = parts->front().partition;
    return older;
  }

  Result<> load_older(const Generation::Trace& trace, Older& older) {
    Result<std::optional<TracePart>> newest = older_.newest_part(trace.id);
    if (!newest) return newest.error();
    if (!*newest) return {};
    return (*newest)->summary.oversized ? load_tally(trace, **newest, older) : load_rows(trace, older);
  }

  // Older partitions than the newest part's were noted when that part was sealed.
  Result<> load_tally(const Generation::Trace& trace, const TracePart& newest, Older& older) {
    older.oversized = true;
    if (newest.partition != generation_.partition()) out_.straddling.emplace(newest.partition, trace.id);
    Result<TraceTally> tally = sealed_tally(older_, trace.id);
    if (!tally) return tally.error();
    older.tally = *tally;
    Result<std::optional<TracePart>> oldest = older_.part_from(trace.id, 0, 0);
    if (!oldest) return oldest.error();
    older.first_partition = *oldest ? (*oldest)->partition : newest.partition;
    return {};
  }

  Result<> load_rows(const Generation::Trace& trace, Older& older) {
    Result<std::vector<TracePart>> parts = older_.parts(trace.id);
    if (!parts) return parts.error();
    older.parts = parts->size();
    older.first_partition = parts->front().partition;
    std::unordered_set<SpanId, IdHash> new_ids;
    for (const Candidate& candidate : candidates_) new_ids.insert(candidate.span_id);
    for (const TracePart& part : *parts) {
      if (part.partition != generation_.partition()) out_.straddling.emplace(part.partition, trace.id);
      const size_t first = older.rows.size();
      if (Result<> read = older_rows_.read(trace.id, part, older.rows, older.places); !read) return read;
      bool repeats = false;
      for (const TraceRow& row : std::span(older.rows).subspan(first)) {
        if (!new_ids.contains(row.span_id)) continue;
        older.repeated_ids.insert(row.span_id);
        repeats = true;
      }
      if (repeats) {
        if (Result<> hashed = hash_part(trace.id, part, older); !hashed) return hashed;
      }
    }
    older.is_too_costly = is_too_costly(older.rows.size() + kPartRows * older.parts);
    return {};
  }

  // Notes the cost. Once all traces together cost too much, those that cost more than their share do.
  bool is_too_costly(uint64_t rows) {
    reread_rows_ += rows;
    const uint64_t limit = older_.limits().reread_rows;
    if (reread_rows_ <= limit || rows <= limit / grown_ || oversized_ >= older_.limits().reread_traces) return false;
    ++oversized_;
    return true;
  }

  void keep_open(uint32_t segment) {
    if (!open_.contains(segment) && open_.size() >= kKeptOpen) {
      for (uint32_t other : open_) older_.close(other);
      open_.clear();
    }
    open_.insert(segment);
  }

  Result<> hash_part(const TraceId& id, const TracePart& part, Older& older) {
    keep_open(part.segment);
    Result<LocatedPart> located = older_.locate(id, part);
    if (!located) return located.error();
    for (const RowRange& range : located->ranges) {
      Result<StoredRows> rows = located->reader->rows(range.block, range.first_row, range.row_count);
      if (!rows) return rows.error();
      for (const StoredRow& row : rows->rows) {
        if (!older.repeated_ids.contains(row.span.span_id)) continue;
        older.contents.insert(content_hash(row.span, row.resource, row.scope, row.clock));
      }
    }
    return {};
  }

  // Marks what collapses and what conflicts. Ids rarely repeat, so contents are hashed only where they do.
  void collapse(const Older& older) {
    std::unordered_map<SpanId, std::vector<Candidate*>, IdHash> repeated;
    by_id_.clear();
    for (Candidate& candidate : candidates_) by_id_.push_back(&candidate);
    std::sort(by_id_.begin(), by_id_.end(), [](Candidate* a, Candidate* b) { return a->span_id < b->span_id; });
    for (size_t begin = 0; begin < by_id_.size();) {
      size_t end = begin + 1;
      while (end < by_id_.size() && by_id_[end]->span_id == by_id_[begin]->span_id) ++end;
      bool in_older = older.repeated_ids.contains(by_id_[begin]->span_id);
      if (end - begin > 1 || in_older) collapse_group(std::span(by_id_).subspan(begin, end - begin), older, in_older);
      begin = end;
    }
  }

  void collapse_group(std::span<Candidate*> group, const Older& older, bool in_older) {
    // The earliest reception stands.
    std::sort(group.begin(), group.end(), [this](Candidate* a, Candidate* b) {
      return std::tuple(generation_.sequence(*a->row), a->row->index) <
             std::tuple(generation_.sequence(*b->row), b->row->index);
    });
    std::unordered_set<uint64_t> contents;
    size_t kept = 0;
    for (Candidate* candidate : group) {
      uint64_t hash = generation_.batch(*candidate->row).content_hash(generation_.stored(*candidate->row));
      candidate->dropped = older.contents.contains(hash) || !contents.insert(hash).second;
      kept += !candidate->dropped;
    }
    if (kept > 1 || (kept == 1 && in_older)) {
      for (Candidate* candidate : group) candidate->conflicting = true;
    }
  }

  bool is_oversized(const Older& older) const {
    if (older.oversized || older.is_too_costly || older.parts >= older_.limits().segments) return true;
    auto dropped = std::ranges::count(candidates_, true, &Candidate::dropped);
    return older.rows.size() + candidates_.size() - static_cast<size_t>(dropped) > older_.limits().spans;
  }

  // In the order of reception, rows no longer collapse once the trace is oversized.
  void keep_beyond_limit(const Older& older) {
    if (older.oversized) return;
    std::vector<Candidate*> received;
    for (Candidate& candidate : candidates_) received.push_back(&candidate);
    std::ranges::sort(received, {}, [this](const Candidate* candidate) {
      return std::tuple(generation_.sequence(*candidate->row), candidate->row->index);
    });
    size_t kept = older.rows.size();
    for (Candidate* candidate : received) {
      if (kept > older_.limits().spans) candidate->dropped = false;
      kept += candidate->dropped ? 0 : 1;
    }
    // Without a part in this segment, the trace would be read again for the next one.
    if (older.is_too_costly && kept == older.rows.size()) received.front()->dropped = false;
  }

  void emit(const Generation::Trace& trace, const Older& older) {
    uint32_t first_row = static_cast<uint32_t>(out_.rows.size());
    light_.clear();
    for (const Candidate& candidate : candidates_) {
      if (candidate.dropped) continue;
      const Generation::Row& row = *candidate.row;
      out_.rows.push_back({&generation_.batch(row), &generation_.stored(row), generation_.sequence(row), row.operation,
                           candidate.conflicting});
      out_.sources.push_back(&row);
      light_.push_back(generation_.trace_row(row));
    }
    uint32_t row_count = static_cast<uint32_t>(out_.rows.size() - first_row);
    if (row_count == 0) return;  // everything was stored before: nothing new to say about this trace
    out_.traces.push_back({trace.id, first_row, row_count, {}});
    is_oversized(older) ? emit_oversized(older) : emit_ordinary(older);
  }

  void emit_ordinary(const Older& older) {
    light_.insert(light_.end(), older.rows.begin(), older.rows.end());
    TraceSummary& summary = out_.traces.back().summary;
    summary = summarise(light_);
    summary.grown = !older.rows.empty();
    out_.older_operations.push_back(distinct_operations(older.rows));
    out_.older_places.push_back(older.places);
    out_.tallies.emplace_back();
  }

  void emit_oversized(const Older& older) {
    PartTallies tallies;
    for (const TraceRow& row : light_) tallies.own.add(row);
    tallies.whole = older.tally;
    for (const TraceRow& row : older.rows) tallies.whole.add(row);
    bool grown = !tallies.whole.empty();
    tallies.whole.add(tallies.own);
    tallies.first_partition = std::min(older.first_partition, generation_.partition());
    TraceSummary& summary = out_.traces.back().summary;
    summary = tallies.whole.summary();
    summary.grown = grown;
    summary.oversized = true;
    out_.older_operations.emplace_back();
    out_.older_places.emplace_back();
    out_.tallies.emplace_back(tallies);
  }

  static std::vector<uint32_t> distinct_operations(const std::vector<TraceRow>& rows) {
    std::vector<uint32_t> operations;
    for (const TraceRow& row : rows) operations.push_back(row.operation);
    std::sort(operations.begin(), operations.end());
    operations.erase(std::unique(operations.begin(), operations.end()), operations.end());
    return operations;
  }

  const Generation& generation_;
  SealedReader& older_;
  const OnUnreadable& on_unreadable_;
  OlderRows older_rows_{older_};
  std::set<uint32_t> open_;   // segments, for hash_part()
  uint64_t grown_ = 0;        // traces with older spans
  uint64_t reread_rows_ = 0;  // what their older spans cost so far
  size_t oversized_ = 0;      // traces of the store
  SegmentRows out_;
  std::vector<Candidate> candidates_;
  std::vector<Candidate*> by_id_;
  std::vector<TraceRow> light_;
};

}  // namespace

Result<SegmentRows> segment_rows(const Generation& generation, SealedReader& older, const OnUnreadable& on_unreadable) {
  return RowArranger(generation, older, on_unreadable).arrange();
}

}  // namespace fathom::store
