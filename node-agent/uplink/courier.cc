#include "node-agent/uplink/courier.h"

#include <algorithm>

#include "base/log.h"
#include "base/metrics.h"
#include "base/time.h"
#include "ingest/agent_messages.h"

namespace fathom::agent {

namespace {

constexpr uint64_t kLoadedBytes = 4ull << 20;  // of spooled batches in memory at a time
constexpr uint64_t kMostBatchRetryNano = 30 * kNanosPerSecond;
constexpr uint64_t kSpoolFullNano = kNanosPerSecond;    // until it is tried again
constexpr uint64_t kSpoolUnreadNano = kNanosPerSecond;  // likewise
constexpr uint64_t kTendSpoolNano = 10 * kNanosPerSecond;
constexpr size_t kMostAppends = 64;

struct CourierMetrics {
  Counter& acknowledged =
      counter("fathom_agent_acknowledged_spans_total", "Spans that the collector has said are durable");
  Counter& retries = counter("fathom_agent_retries_total", "Batches that the collector asked for again later");
  Counter& spooled = counter("fathom_agent_spooled_spans_total", "Spans that were put into the spool");
  Counter& spool_full = counter("fathom_agent_spool_full_total", "Batches that the spool had no room for; they wait");
  Counter& refused = lost("refused");
  Counter& rejected = lost("rejected");
  Gauge& memory = gauge("fathom_agent_uplink_memory_bytes", "Batches that are neither acknowledged nor spooled");

 private:
  static Counter& lost(const char* reason) {
    return counter("fathom_agent_lost_spans_total", "Spans that were lost on this node, by reason.",
                   label("reason", reason));
  }
};

CourierMetrics& metrics() {
  static CourierMetrics all;
  return all;
}

}  // namespace

Courier::Courier(UplinkOptions options, Surroundings surroundings, std::unique_ptr<SpoolPort> spool)
    : options_(std::move(options)),
      surroundings_(std::move(surroundings)),
      spool_(std::move(spool)),
      random_(std::random_device()()),
      away_since_nano_(surroundings_.now_nano()),
      captures_(options_.capture_memory_bytes, capture_surroundings()) {
  metrics();
}

bool Courier::room(uint64_t bytes) const {
  return memory_bytes_ == 0 || memory_bytes_ + bytes <= options_.memory_bytes;
}

void Courier::send(OutgoingBatch batch, std::function<void(Outcome)> done) {
  auto parcel = std::make_shared<Parcel>();
  parcel->identity = batch.identity;
  parcel->otlp = std::make_shared<const std::string>(std::move(batch.otlp));
  parcel->spans = batch.spans;
  parcel->built = mark();
  // The offset of now is not that of then, when the spans ended that waited in a pool.
  parcel->built.uncertain_nano += OffsetEstimator::drift_in(batch.oldest_age_nano);
  parcel->done = std::move(done);
  parcel->since_nano = surroundings_.now_nano();
  memory_bytes_ += parcel->otlp->size();
  metrics().memory.set(static_cast<int64_t>(memory_bytes_));
  waiting_.push_back(std::move(parcel));
  pump();
}

void Courier::tick() {
  uint64_t now = surroundings_.now_nano();
  mark();
  watch_link(now);
  if (welcome_) {
    report_if_due(now);
    send_probe(now);
  }
  pump();
  fetch_spooled();
  spool_what_is_due(now);
  tend_spool(now);
  finish_if_done(now);
}

// ---- what goes over the stream --------------------------------------------------------------------------------------

void Courier::pump() {
  pump_batches();
  pump_captures();
}

void Courier::pump_batches() {
  while (may_send()) {
    ParcelPtr parcel = next_parcel();
    if (parcel == nullptr) return;
    if (welcome_->max_batch_bytes > 0 && parcel->otlp->size() > welcome_->max_batch_bytes) {
      count_refused(*parcel, "the batch is larger than the collector takes");
      settle(parcel, Outcome::kRefused);
    } else {
      transmit(parcel);
    }
  }
}

// For a while after the welcome, or after a RETRY.
bool Courier::is_halted() const {
  uint64_t now = surroundings_.now_nano();
  // The offset is known a moment after the welcome, and batches should carry it.
  if (!clock_heard_ && now < opened_nano_ + kNanosPerSecond) return true;
  return now < paused_until_nano_ || (cautious_ && !in_flight_.empty());
}

bool Courier::may_send() const {
  if (!welcome_ || is_halted()) return false;
  return in_flight_.size() < std::max<uint32_t>(welcome_->max_unacknowledged_batches, 1);
}

// Taken out of its queue; nothing when there is none that fits.
Courier::ParcelPtr Courier::next_parcel() {
  std::deque<ParcelPtr>* queues[] = {&waiting_, &loaded_};
  size_t first = turn_of_spool_ ? 1 : 0;
  if (queues[first]->empty()) first = 1 - first;
  std::deque<ParcelPtr>& queue = *queues[first];
  if (queue.empty() || !fits(*queue.front())) return nullptr;
  ParcelPtr parcel = std::move(queue.front());
  queue.pop_front();
  turn_of_spool_ = first == 0;
  return parcel;
}

bool Courier::fits(const Parcel& parcel) const {
  return in_flight_.empty() || in_flight_bytes_ + parcel.otlp->size() <= welcome_->max_unacknowledged_bytes;
}

void Courier::transmit(const ParcelPtr& parcel) {
  stamp(*parcel);
  parcel->since_nano = surroundings_.now_nano();
  in_flight_bytes_ += parcel->otlp->size();
  in_flight_[++sequence_] = parcel;
  link_->send(ingest::batch_head(sequence_, {parcel->identity}, parcel->clock, parcel->otlp->size()), parcel->otlp);
}

void Courier::stamp(Parcel& parcel) {
  if (!parcel.clock && parcel.built_is_known) parcel.clock = estimator_.at(parcel.built);
}

void Courier::acknowledged(const ingest::Ack& ack) {
  auto found = in_flight_.find(ack.sequence);
  if (found == in_flight_.end()) return;
  ParcelPtr parcel = std::move(found->second);
  in_flight_.erase(found);
  in_flight_bytes_ -= parcel->otlp->size();
  switch (ack.outcome) {
    case ingest::Ack::Outcome::kDurable: {
      cautious_ = false;
      uint64_t rejected = std::min<uint64_t>(ack.rejected_spans, parcel->spans);
      metrics().rejected.add(rejected);
      metrics().acknowledged.add(parcel->spans - rejected);
      refused_spans_ += rejected;
      acknowledged_spans_ += parcel->spans - rejected;
      settle(parcel, Outcome::kKept);
      break;
    }
    case ingest::Ack::Outcome::kRefused:
      count_refused(*parcel, ack.message);
      settle(parcel, Outcome::kRefused);
      break;
    case ingest::Ack::Outcome::kRetry:
      metrics().retries.add();
      retry(parcel, ack.retry_after_nano);
      break;
  }
  pump();
  fetch_spooled();
}

void Courier::count_refused(const Parcel& parcel, const std::string& message) {
  metrics().refused.add(parcel.spans);
  refused_spans_ += parcel.spans;
  log_warning("the collector refuses a batch for good: " + message);
}

void Courier::retry(const ParcelPtr& parcel, uint64_t delay_nano) {
  uint64_t delay = std::clamp(delay_nano, 10 * kNanosPerMilli, kMostBatchRetryNano);
  delay += random_() % (delay / 4 + 1);  // or all agents would come again together
  paused_until_nano_ = std::max(paused_until_nano_, surroundings_.now_nano() + delay);
  cautious_ = true;
  take_back(parcel);
}

// A batch whose stream or turn is over; it waits to be sent again, before all others.
void Courier::take_back(const ParcelPtr& parcel) {
  if (parcel->loaded) {
    loaded_.push_front(parcel);
  } else if (parcel->spool_id != 0) {
    spool_->release(parcel->spool_id);
    spool_may_have_more_ = true;
  } else if (!parcel->spooling) {
    waiting_.push_front(parcel);
  } else {
    parcel->since_nano = 0;  // spooled() will find it neither answered nor under way
  }
}

// Answered for good.
void Courier::settle(const ParcelPtr& parcel, Outcome outcome) {
  parcel->settled = true;
  if (parcel->spool_id != 0) spool_->remove(parcel->spool_id);
  if (parcel->loaded) loaded_bytes_ -= parcel->otlp->size();
  complete(*parcel, outcome);
}

// Runs it soon, unless the courier is gone by then.
void Courier::post(std::function<void()> work) {
  surroundings_.post([alive = std::weak_ptr(alive_), work = std::move(work)] {
    if (alive.lock()) work();
  });
}

// Tells the agent, who gave the batch; not from within its own call.
void Courier::complete(Parcel& parcel, Outcome outcome) {
  if (!parcel.done) return;
  memory_bytes_ -= parcel.otlp->size();
  metrics().memory.set(static_cast<int64_t>(memory_bytes_));
  post([done = std::exchange(parcel.done, nullptr), outcome] { done(outcome); });
}

// ---- the spool ------------------------------------------------------------------------------------------------------

// What waits since the spool was full need not wait any longer.
void Courier::set_spool_limit(uint64_t bytes) {
  options_.spool_limit_bytes = bytes;
  spool_blocked_until_nano_ = 0;
  if (spool_) spool_->set_limit(bytes);
}

void Courier::spool_what_is_due(uint64_t now) {
  if (!may_spool() || now < spool_blocked_until_nano_) return;
  bool away = !welcome_ && now - away_since_nano_ >= options_.spool_after_nano;
  bool last_call = finish_spooled_;
  auto due = [&](const ParcelPtr& parcel) {
    return away || last_call || now - parcel->since_nano >= options_.spool_after_nano;
  };
  while (!waiting_.empty() && spooling_ < kMostAppends && due(waiting_.front())) {
    ParcelPtr parcel = std::move(waiting_.front());
    waiting_.pop_front();
    spool(parcel, false);
  }
  for (const auto& [sequence, parcel] : in_flight_) {
    bool stalled = last_call || now - parcel->since_nano >= options_.stalled_after_nano;
    if (spooling_ >= kMostAppends || !stalled) break;
    if (!parcel->loaded && parcel->spool_id == 0 && !parcel->spooling) spool(parcel, true);
  }
}

// `taken`: it is in flight, and stays there.
void Courier::spool(const ParcelPtr& parcel, bool taken) {
  stamp(*parcel);
  parcel->spooling = true;
  ++spooling_;
  SpoolHead head{parcel->identity, parcel->spans, parcel->built, parcel->clock};
  spool_->append(std::move(head), parcel->otlp, taken,
                 [this, alive = std::weak_ptr(alive_), parcel, taken](Result<uint64_t> id) {
                   if (alive.lock()) spooled(parcel, taken, std::move(id));
                 });
}

void Courier::spooled(const ParcelPtr& parcel, bool taken, Result<uint64_t> id) {
  parcel->spooling = false;
  --spooling_;
  bool in_flight = taken && parcel->since_nano != 0 && !parcel->settled;
  if (!id) {
    metrics().spool_full.add();
    if (surroundings_.now_nano() >= spool_blocked_until_nano_) log_warning("cannot spool: " + id.error().message);
    spool_blocked_until_nano_ = surroundings_.now_nano() + kSpoolFullNano;
    if (!in_flight && !parcel->settled) waiting_.push_front(parcel);
    return pump();
  }
  if (parcel->settled) return spool_->remove(*id);
  metrics().spooled.add(parcel->spans);
  parcel->spool_id = *id;
  if (taken && !in_flight) spool_->release(*id);  // its stream died meanwhile
  if (!in_flight) spool_may_have_more_ = true;
  complete(*parcel, Outcome::kKept);
  fetch_spooled();
}

void Courier::fetch_spooled() {
  if (spool_ == nullptr || !welcome_ || fetching_ || !spool_may_have_more_ || loaded_bytes_ >= kLoadedBytes) return;
  if (finished_ || surroundings_.now_nano() < fetch_blocked_until_nano_) return;
  fetching_ = true;
  spool_->take_next([this, alive = std::weak_ptr(alive_)](Result<std::optional<SpooledBatch>> taken) {
    if (alive.lock()) fetched(std::move(taken));
  });
}

void Courier::fetched(Result<std::optional<SpooledBatch>> taken) {
  fetching_ = false;
  if (!taken) {
    fetch_blocked_until_nano_ = surroundings_.now_nano() + kSpoolUnreadNano;
    if (!std::exchange(unread_was_said_, true)) log_warning(taken.error().message);
    return;
  }
  unread_was_said_ = false;
  std::optional<SpooledBatch> batch = *std::move(taken);
  spool_may_have_more_ = batch.has_value();
  if (!batch) return;
  auto parcel = std::make_shared<Parcel>();
  parcel->identity = batch->head.identity;
  parcel->otlp = std::make_shared<const std::string>(std::move(batch->otlp));
  parcel->spans = batch->head.spans;
  parcel->built = batch->head.built;
  parcel->built_is_known = batch->same_boot;
  parcel->clock = batch->head.clock;
  parcel->spool_id = batch->id;
  parcel->loaded = true;
  loaded_bytes_ += parcel->otlp->size();
  loaded_.push_back(std::move(parcel));
  pump();
  fetch_spooled();
}

void Courier::tend_spool(uint64_t now) {
  if (spool_ == nullptr || now < next_tend_nano_) return;
  next_tend_nano_ = now + kTendSpoolNano;
  spool_->tend();
}

// ---- the end --------------------------------------------------------------------------------------------------------

void Courier::finish(uint64_t grace_nano, std::function<void()> done) {
  finished_ = std::move(done);
  finish_by_nano_ = surroundings_.now_nano() + grace_nano;
  captures_by_nano_ = surroundings_.now_nano() + grace_nano / 2;
  tick();
}

void Courier::finish_if_done(uint64_t now) {
  if (!finished_) return;
  bool all_kept = memory_bytes_ == 0;
  if (!all_kept && !finish_spooled_ && (!welcome_ || now >= finish_by_nano_)) {
    finish_spooled_ = true;
    return spool_what_is_due(now);
  }
  // What the spool did not take by now, it does not take.
  bool gave_up = finish_spooled_ && spooling_ == 0 && (!may_spool() || now < spool_blocked_until_nano_);
  if ((all_kept || gave_up) && captures_are_over(now) && last_report_is_over(now))
    post(std::exchange(finished_, nullptr));
}

// They have half of the time, beside the spans. What is not durable then is lost, and in the last report.
bool Courier::captures_are_over(uint64_t now) {
  if (!captures_.idle() && welcome_ && now < captures_by_nano_) return false;
  captures_.give_up();
  return true;
}

UplinkStatus Courier::status() {
  UplinkStatus status;
  status.connected = welcome_.has_value();
  LocalInstant now = surroundings_.instant();
  if (std::optional<ClockOffset> offset = estimator_.at(now)) {
    uint64_t age = now.boot_nano - estimator_.measured_boot_nano();
    status.clock = ClockEstimate{offset->offset_nano, offset->error_nano, now.real_nano - age};
  }
  status.memory_bytes = memory_bytes_;
  if (spool_) status.spool_bytes = spool_->figures().bytes;
  if (spool_) status.damaged_spool_spans = spool_->figures().damaged_spans;
  status.acknowledged_spans = acknowledged_spans_;
  status.refused_spans = refused_spans_;
  status.capture_memory_bytes = captures_.memory_bytes();
  status.lost_captures = captures_.losses();
  return status;
}

}  // namespace fathom::agent
