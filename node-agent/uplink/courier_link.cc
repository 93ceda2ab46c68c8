// The Courier's side that looks after its stream: opening, welcoming, measuring, ending, coming back.
#include <algorithm>

#include "base/log.h"
#include "base/time.h"
#include "node-agent/uplink/courier.h"

namespace fathom::agent {

namespace {

constexpr uint64_t kWelcomeNano = 5 * kNanosPerSecond;  // for a stream to be welcomed in
constexpr uint64_t kStableNano = 2 * kNanosPerSecond;   // a stream that lived so long was no failure
constexpr uint64_t kLeastBackoffNano = 100 * kNanosPerMilli;
constexpr uint64_t kMostBackoffNano = 5 * kNanosPerSecond;
constexpr uint64_t kTellAgainNano = 60 * kNanosPerSecond;  // what is wrong with a flag nobody mends who has not read it
constexpr uint64_t kReportNano = 5 * kNanosPerSecond;
constexpr size_t kMostUntold = 4;                    // reports that wait for their answers
constexpr uint64_t kFarewellNano = kNanosPerSecond;  // for the last report to be heard
constexpr uint64_t kProbeNano = kNanosPerSecond;     // the error grows by a millisecond in it

}  // namespace

void Courier::watch_link(uint64_t now) {
  if (link_ == nullptr && now >= reconnect_nano_) open_link();
  if (link_ != nullptr && !welcome_ && now >= opened_nano_ + kWelcomeNano) link_->close();
}

// Events of a link that is no more are dropped by its number; so are all once the courier is gone.
void Courier::open_link() {
  opened_nano_ = surroundings_.now_nano();
  uint64_t number = ++link_number_;
  auto guarded = [this, number, alive = std::weak_ptr(alive_), post = surroundings_.post](auto handler) {
    return [this, number, alive, post, handler](auto event) {
      post([this, number, alive, handler, event = std::move(event)]() mutable {
        if (alive.lock() && number == link_number_) (this->*handler)(std::move(event));
      });
    };
  };
  LinkEvents events;
  events.welcome = guarded(&Courier::welcomed);
  events.ack = guarded(&Courier::acknowledged);
  events.probed = guarded(&Courier::probed);
  events.progress = guarded(&Courier::progressed);
  events.asked = guarded(&Courier::asked);
  events.ended = guarded(&Courier::link_ended);
  link_ = surroundings_.open_link(std::move(events));
}

void Courier::welcomed(ingest::Welcome welcome) {
  if (welcome_) return;
  log_info("the collector at " + options_.collector_address + " (" + welcome.collector_version + ") takes spans");
  welcome_ = std::move(welcome);
  captures_.welcomed(*welcome_);
  most_bytes_ = welcome_->max_batch_bytes > 0 ? welcome_->max_batch_bytes : UINT64_MAX;
  sequence_ = 0;
  clock_heard_ = false;
  opened_nano_ = surroundings_.now_nano();
  next_probe_nano_ = next_report_nano_ = opened_nano_;
  spool_may_have_more_ = true;
  tick();
}

void Courier::link_ended(const std::string& why) {
  uint64_t now = surroundings_.now_nano();
  bool was_welcome = welcome_.has_value();
  bool lived = was_welcome && now - opened_nano_ >= kStableNano;
  failures_ = lived ? 0 : std::min<uint32_t>(failures_ + 1, 16);
  if (was_welcome) away_since_nano_ = now;
  if (was_welcome || failures_ == 1 || now >= next_told_nano_) {
    log_warning("no stream to " + options_.collector_address + ": " + why);
    next_told_nano_ = now + kTellAgainNano;
  }
  uint64_t backoff = std::min(kLeastBackoffNano << std::min(failures_, 10u), kMostBackoffNano);
  reconnect_nano_ = now + backoff / 2 + random_() % (backoff / 2 + 1);
  link_.reset();
  welcome_.reset();
  captures_.link_ended();
  untold_.clear();  // whether they were heard is not known: the next one says it again
  paused_until_nano_ = 0;
  cautious_ = false;
  // The last first, so that the first is in front in the end.
  std::map<uint64_t, ParcelPtr> in_flight = std::move(in_flight_);
  in_flight_.clear();
  in_flight_bytes_ = 0;
  for (auto at = in_flight.rbegin(); at != in_flight.rend(); ++at) take_back(at->second);
}

// Whether the offset holds for the collector that answers now, only its first answer tells.
void Courier::probed(const ProbeAnswer& answer) {
  bool first = !std::exchange(clock_heard_, true);
  estimator_.probed(answer.times);
  heard(answer.report);
  if (!first) return;
  next_report_nano_ = surroundings_.now_nano();  // the node's list shows it at once
  pump();
}

void Courier::send_probe(uint64_t now) {
  if (now < next_probe_nano_) return;
  next_probe_nano_ = now + kProbeNano;
  link_->probe();
}

void Courier::report_if_due(uint64_t now) {
  if (now >= next_report_nano_) report(now);
}

// A probe follows: the collector takes a stream's messages in order, so its answer says that the report was heard.
void Courier::report(uint64_t now) {
  next_report_nano_ = now + kReportNano;
  Report report = surroundings_.report();
  link_->report(std::move(report.message), ++last_report_);
  if (untold_.size() == kMostUntold) untold_.pop_back();  // this one says as much and more
  if (report.told) untold_.emplace_back(last_report_, std::move(report.told));
  next_probe_nano_ = now;
}

void Courier::heard(uint64_t report) {
  heard_report_ = std::max(heard_report_, report);
  while (!untold_.empty() && untold_.front().first <= heard_report_) {
    untold_.front().second();
    untold_.pop_front();
  }
}

// It goes when all batches are where they stay, and has the losses of the last seconds.
bool Courier::last_report_is_over(uint64_t now) {
  if (!welcome_) return true;
  if (farewell_ == 0) {
    report(now);
    send_probe(now);
    farewell_ = last_report_;
    farewell_nano_ = now;
  }
  return heard_report_ >= farewell_ || now - farewell_nano_ >= kFarewellNano;
}

}  // namespace fathom::agent
