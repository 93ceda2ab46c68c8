// Search: the slowest (or newest) traces or spans that match a filter, exactly, best first.
//
// Purpose: one heap of things with an upper bound: candidates (found rows), rests of slow lists (everything that a list
// does not name, bounded by its floor) and rests of scans. The best is popped: a candidate is checked against the truth
// about its trace and emitted; a rest is expanded, hours into minutes, minutes into a scan of blocks. So an answer
// needs a few lists when those prove it, and is still exact when they do not. The truth is that of one moment of
// reception, the first page's: a trace that grew since is brought back to its place of then (search_grown.cc).
// Where each trace is wanted once, by a span, the page before need not be remembered: it had those traces that have a
// matching span before its end (search_once.cc).
// Where the filter names traces, these are the candidates, and no list is read (search_named.cc).
// Traces that lost spans to retention are found by their corrections (search_corrected.cc).
// Thread safety: one query, one thread.
// Ownership: it borrows everything. Source of the idea: Fagin, Lotem, Naor (2001).
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "store/index/slow_list.h"
#include "store/rocks/engine.h"
#include "store/rocks/keys.h"
#include "store/rocks/matcher.h"
#include "store/rocks/trace_reader.h"

namespace fathom::store {

enum class SearchOrder { kSlowest, kNewest };

class Search {
 public:
  Search(Engine& engine, const Filter& filter, By by, SearchOrder order, size_t limit,
         const std::optional<Cursor>& cursor, QueryBudget& budget);
  Result<SlowPage> run();

 private:
  enum class Kind {
    kCandidate,
    kHourRest,
    kMinuteRest,
    kBlockScan,
    kMemoryScan,
    kNamedScan,
    kCorrectedScan,
    kCorrectedRowScan
  };

  // Segments of one trace that stay decoded; those of an oversized trace may be very many.
  static constexpr size_t kPartsKeptOpen = 64;

  using TraceIds = std::unordered_set<TraceId, IdHash>;
  using GrownPtr = std::shared_ptr<const GrownTraces>;

  // A series of slow lists: those of one partition and one service, operation or everything.
  struct Series {
    uint32_t partition = 0;
    keys::Scope scope = keys::Scope::kAll;
    uint32_t id = 0;
  };

  struct Node {
    SortKey bound;  // nothing in this node comes before it
    Kind kind = Kind::kCandidate;
    SlowEntry entry;     // kCandidate
    bool check = false;  // kCandidate: whether the trace matches is not known yet
    GrownPtr grown;      // kCandidate: the list that tells where its older parts are, if it has any
    Series series;       // kHourRest, kMinuteRest
    uint32_t cell = 0;
    std::vector<TimeRange> ranges;  // kBlockScan
    bool again = false;             // kBlockScan: what an earlier scan of the same had no room for
    bool rest = false;              // kBlockScan: blocks of which only traces that are not slow may match
  };
  struct Later {
    bool operator()(const Node& a, const Node& b) const;
  };

  // The best candidates of a scan, cut at some number; says whether there were more.
  class Best;

  // Where an entry stands in this search's order.
  SortKey rank(const SlowEntry& entry) const;
  static SlowEntry entry_of(const TraceId& id, const TraceSummary& summary);
  static SlowEntry entry_of(const TraceId& id, const TraceBounds& bounds);
  static SlowEntry entry_of(const Generation& generation, const Generation::Row& row);
  static SlowEntry entry_of(const TraceId& id, const BlockIds& ids, const BlockTimes& times, uint32_t row);
  bool in_bounds(const SlowEntry& entry) const;
  // The same but for where the page before ended.
  bool fits(const SlowEntry& entry) const;
  bool is_of_this_page(const SlowEntry& entry) const { return !cursor_ || slower(cursor_->last, rank(entry)); }
  static bool contains(const std::vector<TimeRange>& ranges, uint64_t at);
  SortKey first_possible() const;
  static SortKey floor_bound(uint64_t duration_nano);

  void push_candidate(const SlowEntry& entry, bool check, GrownPtr grown = nullptr);
  Result<> begin();
  void push_corrected();
  void push_corrected_scan(Kind kind, uint64_t longest_nano);
  void offer_corrected(const TraceId& id, const TraceSummary& summary, Best& best) const;
  Result<> scan_corrected(const Node& node);
  Result<> scan_corrected_rows(const Node& node);
  Result<> push_oversized();
  std::optional<SlowEntry> unsealed_entry(const TraceId& id) const;
  Result<> push_grown();
  Result<> push_as_it_was(const TraceIds& ids);
  Result<> collect_grown(const SegmentInfo& info, TraceIds& ids);
  bool may_have_been_in_bounds(const SlowEntry& entry) const;
  Result<> begin_lists();
  std::vector<Series> series_of(uint32_t partition) const;
  Result<> push_lists(const Series& series, keys::Level level, const TimeRange& range);
  void push_list(const Series& series, keys::Level level, uint32_t cell, const SlowList& list);

  Result<> step(const Node& node);
  Result<> expand_hour(const Node& node);
  Result<> expand_minutes(const Node& node);
  Result<> scan_blocks(const Node& node);
  // How a scan of blocks goes on: its best, and for the first of two scans, what it leaves to the other.
  struct BlockScan {
    const Node& node;
    Best& best;
    std::optional<uint64_t> left_below_nano;  // blocks of which only traces of less than this may match
  };
  Result<bool> is_for(BlockScan& scan, SegmentReader& reader, uint32_t block) const;
  void leave_rest(const BlockScan& scan);
  void finish_scan(Best& best, Kind kind, const Node& node);
  Result<GrownPtr> grown(const SegmentInfo& info);
  void push_grown_unmatched(const std::vector<TimeRange>& ranges);
  Result<bool> older_may_match(const Node& node);
  Result<bool> place_may_match(const OlderPlace& place);
  Result<> learn_grown(const SegmentInfo& info);
  const TraceSummary& newest_summary(const BlockTrace& trace) const;
  Result<> scan_segment(const SegmentInfo& info, BlockScan& scan);
  Result<> scan_block_traces(SegmentReader& reader, uint32_t block, const std::vector<TimeRange>& ranges, Best& best);
  Result<> scan_block_spans(SegmentReader& reader, uint32_t block, const std::vector<TimeRange>& ranges, Best& best);
  bool block_may_help(const BlockZone& zone, const std::vector<TimeRange>& ranges, const Best& best) const;

  // What a span must last to be of interest; may rise while a trace is read.
  using LeastDuration = std::function<uint64_t()>;
  Result<> begin_named();
  Result<> scan_named(const Node& node);
  // Calls `visit` for each span of the trace that matches, wherever it is, until it returns false. Blocks whose spans
  // are all shorter than `least_nano` may be left out.
  using VisitEntry = std::function<bool(const SlowEntry&)>;
  Result<> each_match(const TraceId& id, const LeastDuration& least_nano, const VisitEntry& visit);
  Result<bool> each_match(const TraceId& id, SegmentReader& reader, uint32_t segment, const RowRange& range,
                          const VisitEntry& visit);

  // Each trace once, by a span (search_once.cc).
  Best make_best(const SortKey& bound) const;
  void offer_span(const SlowEntry& entry, Best& best);
  void remember_shown(const SlowEntry& entry);
  Result<bool> was_shown(const TraceId& id);

  Result<> scan_memory(const Node& node);
  void scan_generation_traces(const Generation& generation, size_t position, Best& best);
  void scan_generation_spans(const Generation& generation, Best& best);

  Result<> consider(const Node& node);
  Result<> consider_trace(const Node& node);
  Result<> consider_span(const Node& node);
  Result<const TraceSummary*> summary_for_spans(const TraceId& id);
  void join_equal(const SlowEntry& entry);
  Result<bool> must_be_matched(const Node& node);
  Result<bool> trace_matches(const TraceId& id);
  Result<bool> part_matches(const TraceId& id, const TracePart& part);
  void emit(const SlowEntry& entry, const TraceSummary& summary);

  Engine& engine_;
  const Filter& filter_;
  const By by_;
  const bool once_;  // by span: each trace by the first that matches
  const SearchOrder order_;
  const size_t limit_;
  const std::optional<Cursor>& cursor_;
  QueryBudget& budget_;
  const uint64_t received_sequence_;  // before view_, so that everything up to it is in the view
  const uint64_t as_of_sequence_;     // later rows do not exist for this answer
  const ViewPtr view_;
  SealedReader sealed_;
  TraceReader traces_;
  Matcher matcher_;

  uint64_t unpaid_bytes_ = 0;  // of nodes that were pushed since the budget was last charged
  std::priority_queue<Node, std::vector<Node>, Later> heap_;
  TraceIds seen_;  // traces that are in the answer; those of earlier pages, as far as they were met
  std::unordered_map<uint32_t, GrownPtr> grown_;                 // per segment, as far as they were read
  std::vector<GrownPtr> newer_;                                  // while scanning: of the segments done, newest first
  std::unordered_map<TraceId, TraceSummary, IdHash> summaries_;  // by span: of the traces whose spans were emitted
  std::optional<SortKey> last_emitted_;
  std::pair<uint64_t, uint32_t> last_received_;  // sequence and operation of the entry that last_emitted_ stands for
  SlowPage page_;
};

}  // namespace fathom::store
