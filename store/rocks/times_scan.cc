#include "store/rocks/times_scan.h"

namespace fathom::store {

namespace {

constexpr size_t kAtOnce = 4096;  // rows in memory, between two looks at the budget

// Times that are shown together.
struct Gathered {
  std::vector<uint64_t> start_unix_nano, duration_nano;
  std::vector<uint8_t> error;

  void add(uint64_t start, uint64_t duration, bool failed) {
    start_unix_nano.push_back(start);
    duration_nano.push_back(duration);
    error.push_back(failed);
  }
  void show(const VisitTimes& visit) {
    if (!error.empty()) visit({start_unix_nano, duration_nano, error});
    start_unix_nano.clear();
    duration_nano.clear();
    error.clear();
  }
};

// What retention dropped meanwhile is not there.
Result<> unless_dropped(const Result<>& result) {
  return !result && result.error().code == ErrorCode::kNotFound ? Result<>() : result;
}

}  // namespace

TimesScan::TimesScan(Engine& engine, const Filter& filter, QueryBudget& budget)
    : budget_(budget),
      view_(engine.views.get()),
      sealed_(engine.sealed(), view_, budget),
      rows_(filter, engine.catalogue) {}

Result<> TimesScan::visit(const VisitTimes& visit) {
  if (Result<> alive = budget_.check(); !alive || !rows_.possible()) return alive;
  for (const SegmentInfoPtr& segment : view_->segments) {
    if (!segment->touches(rows_.range())) continue;
    if (Result<> done = unless_dropped(visit_segment(*segment, visit)); !done) return done;
    sealed_.close(segment->id);
  }
  for (const auto& generation : view_->generations) {
    if (Result<> done = visit_memory(*generation, visit); !done) return done;
  }
  return {};
}

Result<> TimesScan::visit_segment(const SegmentInfo& info, const VisitTimes& visit) {
  Result<SegmentReader*> reader = sealed_.segment(info);
  if (!reader) return reader.error();
  for (uint32_t block = 0; block < (*reader)->directory().block_count(); ++block) {
    if (!rows_.may_match((*reader)->directory().zone(block))) continue;
    if (Result<> done = visit_block(**reader, block, visit); !done) return done;
  }
  return {};
}

Result<> TimesScan::visit_block(SegmentReader& reader, uint32_t block, const VisitTimes& visit) {
  if (rows_.all_match(reader.directory().zone(block))) {
    Result<BlockTimes> times = reader.times(block);
    if (!times) return times.error();
    visit({times->start_unix_nano, times->duration_nano, times->error});
    return {};
  }
  Result<MatchedRows> matched = rows_.of_block(reader, block);
  if (!matched) return matched.error();
  const BlockTimes& times = matched->times;
  Gathered gathered;
  for (uint32_t row : matched->rows) {
    gathered.add(times.start_unix_nano[row], times.duration_nano[row], times.error[row] != 0);
  }
  gathered.show(visit);
  return {};
}

Result<> TimesScan::visit_memory(Generation& generation, const VisitTimes& visit) {
  Gathered gathered;
  auto lock = generation.read();
  for (size_t i = 0; i < generation.rows().size(); ++i) {
    const Generation::Row& row = generation.rows()[i];
    if (rows_.matches(generation, row)) gathered.add(row.start_unix_nano, row.duration_nano, row.error);
    if (i % kAtOnce != kAtOnce - 1) continue;
    if (Result<> alive = budget_.check(); !alive) return alive;
    gathered.show(visit);
  }
  gathered.show(visit);
  return {};
}

Result<uint64_t> TimesScan::at_most() {
  if (Result<> alive = budget_.check(); !alive) return alive.error();
  uint64_t spans = 0;
  for (const SegmentInfoPtr& segment : view_->segments) {
    if (!segment->touches(rows_.range())) continue;
    if (Result<> done = unless_dropped(count_segment(*segment, spans)); !done) return done.error();
    sealed_.close(segment->id);
  }
  for (const auto& generation : view_->generations) spans += generation->row_count();
  return spans;
}

Result<> TimesScan::count_segment(const SegmentInfo& info, uint64_t& spans) {
  Result<SegmentReader*> reader = sealed_.segment(info);
  if (!reader) return reader.error();
  const SegmentDirectory& directory = (*reader)->directory();
  for (uint32_t block = 0; block < directory.block_count(); ++block) {
    if (rows_.may_match(directory.zone(block))) spans += directory.zone(block).rows;
  }
  return {};
}

}  // namespace fathom::store
