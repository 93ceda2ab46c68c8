#include "store/rocks/rocks_store.h"

#include <algorithm>

#include "store/captures/captures.h"
#include "store/rocks/calls.h"
#include "store/rocks/committer.h"
#include "store/rocks/counters.h"
#include "store/rocks/engine.h"
#include "store/rocks/keys.h"
#include "store/rocks/loss_starts.h"
#include "store/rocks/losses.h"
#include "store/rocks/maintenance.h"
#include "store/rocks/newest_stamp.h"
#include "store/rocks/operation_rows.h"
#include "store/rocks/reconcile.h"
#include "store/rocks/sampler.h"
#include "store/rocks/scan_options.h"
#include "store/rocks/search.h"
#include "store/rocks/statistics.h"
#include "store/rocks/times_scan.h"
#include "store/rocks/trace_pages.h"
#include "store/wal/repair_advice.h"

namespace fathom::store {

namespace {

// When retention drops a partition under a question, it is asked again of what is left. Each attempt but the last needs
// a drop of its own, so a few are plenty.
template <typename Ask>
auto ask_again_after_drop(const Engine& engine, const Ask& ask) {
  for (int attempts_left = 4;; --attempts_left) {
    ViewPtr before = engine.views.get();
    auto answer = ask();
    bool dropped = !answer.ok() && answer.error().code == ErrorCode::kNotFound && engine.views.get() != before;
    if (!dropped || attempts_left == 0) return answer;
  }
}

// Segments are by id, and so is their reception; what is in memory came later.
uint64_t oldest_received(const View& view) {
  if (!view.segments.empty()) return view.segments.front()->first_received_unix_nano;
  for (const auto& generation : view.generations) {
    auto lock = generation->read();
    if (!generation->sources().empty()) return generation->sources().front().received_unix_nano;
  }
  return 0;
}

}  // namespace

struct RocksStore::Impl {
  explicit Impl(RocksOptions options) : engine(std::move(options)) {}
  ~Impl() {
    if (captures) captures->stop();
    // The committer answers what waits before sealing stops, so that nothing acknowledged depends on a closed store.
    if (committer) committer->stop();
    if (maintenance) maintenance->stop();
    engine.views.update([](View& view) { view = View(); });
  }

  template <typename T>
  Result<T> checked(Result<T> answer) {
    return engine.damaged_reads.checked(std::move(answer));
  }
  Result<> start();
  Result<> load();
  Result<> load_partitions();
  Result<> load_segments();
  Result<> start_clock();

  Engine engine;
  std::unique_ptr<Committer> committer;
  std::unique_ptr<Maintenance> maintenance;
  std::unique_ptr<Captures> captures;
};

Result<> RocksStore::Impl::start() {
  if (Result<> loaded = load(); !loaded) return loaded;
  committer = std::make_unique<Committer>(engine);
  maintenance = std::make_unique<Maintenance>(engine, *committer);
  if (Result<> recovered = maintenance->recover(); !recovered) return recovered;
  if (Result<> started = committer->start([this] { maintenance->wake(); }); !started) return started;
  maintenance->start();
  captures = std::make_unique<Captures>(engine);
  return captures->start();
}

Result<> RocksStore::Impl::load() {
  if (Result<> loaded = load_partitions(); !loaded) return loaded;
  if (Result<> loaded = load_segments(); !loaded) return loaded;
  if (Result<> completed = complete_lost_drops(engine); !completed) return completed;
  if (Result<> started = start_clock(); !started) return started;
  if (Result<> loaded = load_losses(engine); !loaded) return loaded;
  return load_operations(engine);
}

// Before anything is stamped, and after the segments, whose stamps the clock must not fall behind.
Result<> RocksStore::Impl::start_clock() {
  Result<uint64_t> newest = newest_stamp(engine);
  if (!newest) return newest.error();
  engine.clock_keeper = std::make_unique<ClockKeeper>(*engine.database->db().GetEnv(), engine.options.path,
                                                      engine.options.read_clocks, *newest);
  engine.clock = engine.clock_keeper->clock();
  return engine.clock_keeper->check_begun();
}

Result<> RocksStore::Impl::load_partitions() {
  std::string value;
  Database& database = *engine.database;
  rocksdb::Status status =
      database.db().Get(rocksdb::ReadOptions(), database.family(Family::kDefault), keys::kOldestPartition, &value);
  if (status.IsNotFound()) return {};
  if (!status.ok()) return from_status(status, "read the data directory");
  if (value.size() != 4) return corrupt("the record of the oldest partition is damaged");
  engine.live->set_oldest(load_be32(value.data()));
  status = database.db().Get(rocksdb::ReadOptions(), database.family(Family::kDefault), keys::kSealedSequence, &value);
  if (!status.ok()) return from_status(status, "read the data directory");
  engine.sealed_sequence = ByteReader(value).u64();
  return {};
}

Result<> RocksStore::Impl::load_segments() {
  Database& database = *engine.database;
  std::vector<SegmentInfoPtr> segments;
  std::unique_ptr<rocksdb::Iterator> rows(database.db().NewIterator(scan_options(), database.family(Family::kSegment)));
  for (rows->SeekToFirst(); rows->Valid(); rows->Next()) {
    Result<SegmentInfo> info =
        SegmentInfo::decode({rows->key().data(), rows->key().size()}, {rows->value().data(), rows->value().size()});
    if (!info) return info.error();
    engine.sealed_sequence = std::max(engine.sealed_sequence.load(), info->last_sequence);
    engine.last_segment = std::max(engine.last_segment.load(), info->id);
    // A crash may leave the row of a segment that the record of a drop, in another family, excludes.
    if (engine.live->is_live(info->partition)) segments.push_back(std::make_shared<SegmentInfo>(*info));
  }
  if (!rows->status().ok()) return from_status(rows->status(), "read the list of segments");
  std::sort(segments.begin(), segments.end(),
            [](const SegmentInfoPtr& a, const SegmentInfoPtr& b) { return a->id < b->id; });
  engine.views.update([&](View& view) {
    view.segments = std::move(segments);
    view.snapshot = take_snapshot(database.db());
  });
  return {};
}

namespace {

Result<StoredTrace> read_trace_page(SealedReader& sealed, const Catalogue& catalogue, const TraceId& id,
                                    uint64_t received_sequence, const std::optional<TraceCursor>& after, size_t limit) {
  Result<std::optional<TraceSummary>> summary = TraceReader(sealed, catalogue, received_sequence).page_summary(id);
  if (!summary) return summary.error();
  if (!*summary) return not_found("trace " + id.hex() + " is not stored");
  Result<StoredTrace> page = TracePages(sealed, catalogue, received_sequence).read(id, after, limit);
  if (!page) return page;
  page->start_unix_nano = (*summary)->start_unix_nano;
  page->duration_nano = (*summary)->duration_nano;
  page->complete = (*summary)->complete;
  page->oversized = (*summary)->oversized;
  page->spans_at_most = (*summary)->spans;
  return page;
}

}  // namespace

RocksStore::RocksStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RocksStore::~RocksStore() = default;

Result<std::unique_ptr<RocksStore>> RocksStore::open(RocksOptions options) {
  register_counters();
  auto impl = std::make_unique<Impl>(std::move(options));
  Result<std::unique_ptr<Database>> database = Database::open(impl->engine.options, impl->engine.live);
  if (!database) return database.error();
  impl->engine.database = std::move(*database);
  if (Result<> started = impl->start(); !started) return with_repair_advice(started.error(), impl->engine.options.path);
  return std::unique_ptr<RocksStore>(new RocksStore(std::move(impl)));
}

void RocksStore::append(BatchPtr batch, std::function<void(AppendResult)> done) {
  impl_->committer->append(std::move(batch), std::move(done));
}

void RocksStore::append_here(BatchPtr batch, std::function<void(AppendResult)> done,
                             const std::function<void()>& meanwhile) {
  impl_->committer->append_here(std::move(batch), std::move(done), meanwhile);
}

Result<SlowPage> RocksStore::slowest(const Filter& filter, By by, size_t limit, const std::optional<Cursor>& cursor,
                                     QueryBudget& budget) {
  return impl_->checked(ask_again_after_drop(impl_->engine, [&] {
    return Search(impl_->engine, filter, by, SearchOrder::kSlowest, limit, cursor, budget).run();
  }));
}

Result<std::vector<SlowRow>> RocksStore::find(const Filter& filter, By by, size_t limit, QueryBudget& budget) {
  Result<SlowPage> page = impl_->checked(ask_again_after_drop(impl_->engine, [&] {
    return Search(impl_->engine, filter, by, SearchOrder::kNewest, limit, std::nullopt, budget).run();
  }));
  if (!page) return page.error();
  return std::move(page->rows);
}

Result<StoredTrace> RocksStore::trace_page(const TraceId& trace_id, const std::optional<TraceCursor>& after,
                                           size_t limit, QueryBudget& budget) {
  return impl_->checked(ask_again_after_drop(impl_->engine, [&]() -> Result<StoredTrace> {
    // Before the view, so that everything up to it is in the view.
    const uint64_t received = impl_->engine.received_sequence.load(std::memory_order_acquire);
    if (after && after->received_sequence > received) return outdated_cursor(trace_id);
    SealedReader sealed(impl_->engine.sealed(), impl_->engine.views.get(), budget);
    Result<bool> oversized = TraceReader(sealed, impl_->engine.catalogue).is_oversized(trace_id);
    if (!oversized) return oversized.error();
    if (!*oversized && !after) return TraceReader(sealed, impl_->engine.catalogue).load(trace_id);
    return read_trace_page(sealed, impl_->engine.catalogue, trace_id, after ? after->received_sequence : received,
                           after, limit);
  }));
}

Result<std::vector<TraceId>> RocksStore::trace_ids(const TraceIdRange& range, size_t most, QueryBudget& budget) {
  return impl_->checked(ask_again_after_drop(impl_->engine, [&] {
    SealedReader sealed(impl_->engine.sealed(), impl_->engine.views.get(), budget);
    return TraceReader(sealed, impl_->engine.catalogue).ids(range, most);
  }));
}

Result<std::vector<OperationStats>> RocksStore::operations(const TimeRange& range,
                                                           const std::optional<std::string>& service,
                                                           QueryBudget& budget) {
  return impl_->checked(Statistics(impl_->engine, budget).operations(range, service));
}

Result<std::vector<LatencyPoint>> RocksStore::latency(const TimeRange& range, const std::optional<std::string>& service,
                                                      const std::optional<std::string>& operation, uint64_t step_nano,
                                                      QueryBudget& budget) {
  return impl_->checked(Statistics(impl_->engine, budget).latency(range, service, operation, step_nano));
}

Result<std::optional<uint64_t>> RocksStore::first_start(const TimeRange& range, QueryBudget& budget) {
  return impl_->checked(Statistics(impl_->engine, budget).first_start(range));
}

Result<std::vector<std::string>> RocksStore::attribute_keys(const TimeRange& range, QueryBudget& budget) {
  return impl_->checked(Statistics(impl_->engine, budget).attribute_keys(range));
}

Result<std::vector<ValueCount>> RocksStore::attribute_values(const TimeRange& range, const std::string& key,
                                                             const std::string& containing, size_t limit,
                                                             QueryBudget& budget) {
  return impl_->checked(Statistics(impl_->engine, budget).attribute_values(range, key, containing, limit));
}

Result<> RocksStore::visit_times(const Filter& filter, const VisitTimes& visit, QueryBudget& budget) {
  return impl_->checked(TimesScan(impl_->engine, filter, budget).visit(visit));
}

Result<uint64_t> RocksStore::spans_at_most(const TimeRange& range, QueryBudget& budget) {
  Filter filter;
  filter.range = range;
  return impl_->checked(TimesScan(impl_->engine, filter, budget).at_most());
}

Result<SampleCount> RocksStore::sample(const Filter& filter, const SampleLimits& limits, const VisitSpan& visit,
                                       QueryBudget& budget) {
  return impl_->checked(Sampler(impl_->engine, filter, limits, visit, budget).run());
}

Result<CallSample> RocksStore::calls(const TimeRange& range, uint64_t most_spans, QueryBudget& budget) {
  return impl_->checked(Calls(impl_->engine, range, most_spans, budget).run());
}

Result<> RocksStore::drop_before(uint64_t received_unix_nano) {
  return impl_->maintenance->drop_before(received_unix_nano);
}

StoreStats RocksStore::stats() {
  StoreStats stats;
  ViewPtr view = impl_->engine.views.get();
  stats.received_sequence = impl_->engine.received_sequence.load();
  for (const auto& generation : view->generations) {
    stats.spans_unsealed += generation->row_count();
    stats.memory_bytes += generation->memory_bytes();
  }
  stats.segments = view->segments.size();
  stats.spans_stored = stats.spans_unsealed;
  for (const SegmentInfoPtr& segment : view->segments) stats.spans_stored += segment->rows;
  if (const uint64_t oldest = oldest_received(*view)) {
    stats.oldest_received_unix_nano = impl_->engine.clock->unix_of(oldest);
  }
  stats.disk_bytes = impl_->engine.database->disk_bytes();
  stats.writable = impl_->engine.writable.load();
  return stats;
}

std::vector<Loss> RocksStore::losses() {
  return known_span_losses(impl_->engine);
}

Result<> RocksStore::settle() {
  uint64_t frozen = impl_->committer->rotate();
  if (Result<> sealed = impl_->maintenance->wait_sealed(frozen); !sealed) return sealed;
  return impl_->maintenance->compact();
}

void RocksStore::set_limits(const RocksOptions& options) {
  RocksOptions& ours = impl_->engine.options;
  ours.operations_per_service = options.operations_per_service;
  ours.services = options.services;
  ours.catalogue_bytes = options.catalogue_bytes;
  impl_->engine.catalogue.set_limits(catalogue_limits(ours));
  ours.listed_attribute_keys = options.listed_attribute_keys;
  ours.retention_age_nano = options.retention_age_nano;
  ours.retention_bytes = options.retention_bytes;
  ours.reserve_disk_bytes = options.reserve_disk_bytes;
  ours.capture_bytes = options.capture_bytes;
}

CaptureStore& RocksStore::captures() {
  return *impl_->captures;
}

std::shared_ptr<AgeClock> RocksStore::clock() const {
  return impl_->engine.clock;
}

}  // namespace fathom::store
