#include "collector/control/slow_roots.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/hash.h"

namespace fathom::collector {

namespace {

bool is_root(const store::Batch::Row& row) {
  return row.parent_span_id.is_zero() && row.end_unix_nano > row.start_unix_nano;
}

uint64_t hash_of_parts(uint64_t seed, std::initializer_list<std::string_view> parts) {
  for (std::string_view part : parts) seed = hash64(part, seed);
  return seed;
}

std::string first_bytes(std::string_view name) {
  return std::string(name.substr(0, SlowRoots::kMostNameBytes));
}

}  // namespace

SlowRoots::SlowRoots(const SlowestOptions& options)
    : options_(options),
      seed_(std::random_device()()),
      slowest_(options),
      skipped_(counter("fathom_slow_roots_skipped_total",
                       "Root spans that may be among the slowest, and were not ranked: too many operations")) {}

// Spans of agents have a clock.
void SlowRoots::took(const store::Batch& batch) {
  if (period_nano_ == 0 || batch.clock() || std::ranges::none_of(batch.rows(), is_root)) return;
  std::lock_guard lock(mutex_);
  for (const store::Batch::Row& row : batch.rows()) {
    if (is_root(row)) rank(batch, row);
  }
}

void SlowRoots::rank(const store::Batch& batch, const store::Batch::Row& row) {
  const uint64_t period_nano = period_nano_;
  if (period_nano == 0 || row.start_unix_nano > now_unix_nano_ + kMostAheadNano) return;
  const store::ResourceView& resource = batch.resource(row.resource);
  const SlowestRequests::Request request{
      .operation = hash_of_parts(
          seed_, {store::service_namespace(resource), store::service_name(resource), batch.strings()[row.name]}),
      .minute = row.start_unix_nano / period_nano,
      .duration_nano = row.end_unix_nano - row.start_unix_nano};
  const std::optional<SlowestRequests::Refusal> refusal = slowest_.why_not(request);
  if (refusal == SlowestRequests::Refusal::kNotSlow || traces_.contains(row.trace_id)) return;
  if (refusal) return skipped_.add();
  if (auto placed = slowest_.place(request)) keep(*placed, root_of(batch, row, request.minute));
}

SlowRoot SlowRoots::root_of(const store::Batch& batch, const store::Batch::Row& row, uint64_t period) const {
  const uint64_t hold_until = (period + 1) * period_nano_ + kHoldAfterNano;
  const uint64_t now = now_unix_nano_;
  return {.trace_id = row.trace_id,
          .service = first_bytes(store::service_name(batch.resource(row.resource))),
          .operation = first_bytes(batch.strings()[row.name]),
          .start_unix_nano = row.start_unix_nano,
          .end_unix_nano = row.end_unix_nano,
          .hold_nano = hold_until - std::min(hold_until, now)};
}

void SlowRoots::keep(const SlowestRequests::Placed& placed, SlowRoot root) {
  if (placed.displaced) forget(*placed.displaced);
  if (placed.is_late) return late_.push_back(std::move(root));
  traces_.insert(root.trace_id);
  new_.insert(placed.id);
  candidates_.emplace(placed.id, std::move(root));
}

void SlowRoots::forget(SlowestRequests::Id id) {
  auto found = candidates_.find(id);
  if (found == candidates_.end()) return;
  traces_.erase(found->second.trace_id);
  new_.erase(id);
  candidates_.erase(found);
}

void SlowRoots::close_before(uint64_t period, std::vector<SlowRoot>& capture) {
  for (SlowestRequests::Id id : slowest_.close_before(period)) {
    auto found = candidates_.find(id);
    if (found != candidates_.end()) capture.push_back(found->second);
    forget(id);
  }
}

SlowRoots::Due SlowRoots::step(uint64_t now_unix_nano, uint64_t period_nano) {
  std::lock_guard lock(mutex_);
  now_unix_nano_ = now_unix_nano;
  Due due{.capture = std::exchange(late_, {})};
  for (SlowestRequests::Id id : std::exchange(new_, {})) due.hold.push_back(candidates_.at(id));
  const uint64_t old_period_nano = period_nano_.exchange(period_nano);
  if (old_period_nano != 0 && old_period_nano != period_nano) {
    close_before(UINT64_MAX, due.capture);
    slowest_ = SlowestRequests(options_);
  }
  if (period_nano != 0) close_before((now_unix_nano - std::min(kGraceNano, period_nano)) / period_nano, due.capture);
  return due;
}

}  // namespace fathom::collector
