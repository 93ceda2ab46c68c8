#include "collector/agents/session_captures.h"

#include <array>
#include <utility>

#include "base/metrics.h"
#include "ingest/collector_messages.h"
#include "ingest/limits.h"

namespace fathom::collector {

namespace {

using State = ingest::CaptureProgress::State;

constexpr size_t kStates = 4;
static_assert(static_cast<size_t>(State::kRefused) + 1 == kStates, "each state has its counter below");

struct CaptureMetrics {
  std::array<Counter*, kStates> answered;
  Counter& abandoned = outcome("abandoned");
  Counter& bytes = counter("fathom_capture_received_bytes_total", "Bytes of captures that came from agents");

  CaptureMetrics() : answered{nullptr, &outcome("durable"), &outcome("retry"), &outcome("refused")} {}

 private:
  static Counter& outcome(const char* name) {
    return counter("fathom_captures_received_total",
                   "Captures that agents began, by how they were answered; or abandoned, as their stream ended",
                   label("outcome", name));
  }
};

CaptureMetrics& capture_metrics() {
  static CaptureMetrics all;
  return all;
}

TokenBucket rate_of_skipped(const CaptureIntake* intake) {
  const CaptureIntakeOptions options = intake == nullptr ? CaptureIntakeOptions() : intake->options();
  return {options.skipped_per_s, options.skipped_burst};
}

Breach invalid_part(std::string why) {
  return {StreamEnd::kInvalid, std::move(why)};
}

}  // namespace

SessionCaptures::SessionCaptures(std::shared_ptr<CaptureIntake> intake, uint64_t max_under_way_bytes, Peer peer)
    : intake_(std::move(intake)),
      max_under_way_bytes_(max_under_way_bytes),
      peer_(std::move(peer)),
      skipped_rate_(rate_of_skipped(intake_.get())) {}

void SessionCaptures::list_metrics() {
  capture_metrics();
}

SessionCaptures::Begun SessionCaptures::begin(store::CaptureInfo info, bool content_is_stored,
                                              const std::string& rejection) {
  std::unique_lock lock(mutex_);
  if (ended_) return capture_metrics().abandoned.add(), Begun();
  if (std::optional<Breach> breach = refusal(info)) return {std::move(breach)};
  Begun begun;
  if (std::string why = rejection.empty() ? why_not(info) : rejection; !why.empty()) {
    answer({.id = info.id, .state = State::kRefused, .message = std::move(why)});
  } else if (draining_) {
    retry(info.id, "the collector is ending");
  } else {
    open(std::move(info), content_is_stored);
    begun.is_under_way = true;
  }
  lock.unlock();
  hear_of_it(false);
  return begun;
}

void SessionCaptures::open(store::CaptureInfo info, bool content_is_stored) {
  Entry& entry = entries_[info.id];
  entry.serial = ++last_serial_;
  entry.size_bytes = info.size_bytes;
  entry.upload =
      intake_->begin(std::move(info), content_is_stored,
                     [weak = weak_from_this(), serial = entry.serial](const ingest::CaptureProgress& progress) {
                       if (auto self = weak.lock()) self->told(serial, progress);
                     });
}

std::optional<Breach> SessionCaptures::refusal(const store::CaptureInfo& info) const {
  if (entries_.contains(info.id)) return invalid_part("this capture is under way already");
  if (entries_.size() < ingest::kMostCapturesUnderWay) return std::nullopt;
  return Breach{StreamEnd::kTooMuch,
                "more than " + std::to_string(ingest::kMostCapturesUnderWay) + " captures are under way"};
}

std::string SessionCaptures::why_not(const store::CaptureInfo& info) const {
  if (!intake_) return "this collector takes no captures";
  if (info.size_bytes == 0) return "a capture says how large it is";
  if (info.size_bytes > intake_->options().most_bytes) return "the capture is larger than Welcome allows";
  return "";
}

std::optional<Breach> SessionCaptures::part(const ingest::CapturePart& part) {
  capture_metrics().bytes.add(part.content.size());
  std::unique_lock lock(mutex_);
  auto found = entries_.find(part.id);
  if (found == entries_.end()) return std::nullopt;  // its answer is on its way to the agent
  Entry& entry = found->second;
  const uint64_t size = part.content.size();
  if (part.offset != entry.received_bytes) return invalid_part("the parts of a capture come one after the other");
  if (size > entry.size_bytes - entry.received_bytes) return invalid_part("the capture is larger than it said");
  if (under_way_bytes_ + size > max_under_way_bytes_) {
    return Breach{StreamEnd::kTooMuch, "more than " + std::to_string(max_under_way_bytes_) + " bytes are not taken"};
  }
  if (intake_->take(entry.upload, part.content)) {
    entry.received_bytes += size;
    under_way_bytes_ += size;
    return std::nullopt;
  }
  retry(part.id, "too many captures are under way; try again later");
  lock.unlock();
  hear_of_it(true);
  return std::nullopt;
}

// Beyond the rate, the first reports are kept.
void SessionCaptures::skipped(std::vector<store::SkippedCapture> reports) {
  if (!intake_) return;
  const uint64_t now = now_monotonic_nano();
  size_t taken = 0;
  while (taken < reports.size() && skipped_rate_.take(now)) ++taken;
  lost_skipped_captures("rate").add(reports.size() - taken);
  reports.resize(taken);
  intake_->put_skipped(std::move(reports));
}

void SessionCaptures::no_room(const store::CaptureId& id) {
  {
    std::lock_guard lock(mutex_);
    if (!entries_.contains(id)) return;
    retry(id, "the collector has no memory for this capture now; try again later");
  }
  hear_of_it(true);
}

void SessionCaptures::drain() {
  {
    std::lock_guard lock(mutex_);
    draining_ = true;
    for (auto at = entries_.begin(); at != entries_.end();) {
      const auto entry = at++;
      if (!entry->second.whole()) retry(store::CaptureId(entry->first), "the collector is ending");
    }
  }
  hear_of_it(true);
}

void SessionCaptures::end_incomplete() {
  std::lock_guard lock(mutex_);
  ended_ = true;
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto entry = at++;
    if (entry->second.whole()) continue;
    capture_metrics().abandoned.add();
    release(entry);
  }
}

bool SessionCaptures::idle() const {
  std::lock_guard lock(mutex_);
  return entries_.empty();
}

// What the intake says. Of an upload that was let go meanwhile, the agent has its answer.
void SessionCaptures::told(uint64_t serial, const ingest::CaptureProgress& progress) {
  const bool is_over = progress.state != State::kTaken;
  {
    std::lock_guard lock(mutex_);
    auto found = entries_.find(progress.id);
    if (found == entries_.end() || found->second.serial != serial) return;
    if (is_over) {
      release(found);
      answer(progress);
    } else {
      under_way_bytes_ -= progress.taken_bytes - found->second.taken_bytes;
      found->second.taken_bytes = progress.taken_bytes;
      say(progress);
    }
  }
  hear_of_it(is_over);
}

void SessionCaptures::retry(const store::CaptureId& id, const std::string& why) {
  if (auto found = entries_.find(id); found != entries_.end()) release(found);
  answer({.id = id, .state = State::kRetry, .retry_after_nano = intake_->options().retry_delay_nano, .message = why});
}

void SessionCaptures::release(Entries::iterator entry) {
  under_way_bytes_ -= entry->second.received_bytes - entry->second.taken_bytes;
  intake_->abandon(entry->second.upload);
  entries_.erase(entry);
}

void SessionCaptures::answer(const ingest::CaptureProgress& progress) {
  capture_metrics().answered[static_cast<size_t>(progress.state)]->add();
  say(progress);
}

void SessionCaptures::say(const ingest::CaptureProgress& progress) {
  if (!peer_.send(encode(progress))) unread_ = true;
}

// Tells the session what it must know, without the lock.
void SessionCaptures::hear_of_it(bool answered) {
  bool unread = false;
  {
    std::lock_guard lock(mutex_);
    unread = std::exchange(unread_, false);
  }
  if (unread) peer_.reads_too_little();
  if (answered) peer_.answered();
}

}  // namespace fathom::collector
