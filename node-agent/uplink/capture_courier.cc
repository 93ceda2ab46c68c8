#include "node-agent/uplink/capture_courier.h"

#include <algorithm>
#include <cassert>

#include "base/log.h"
#include "base/metrics.h"
#include "base/time.h"
#include "ingest/agent_messages.h"

namespace fathom::agent {

namespace {

constexpr uint64_t kMostCaptureRetryNano = 30 * kNanosPerSecond;
constexpr size_t kMostUnderWay = 4;  // half of what collectors take (ingest/limits.h)

Counter& durable() {
  return counter("fathom_agent_durable_captures_total", "Captures that the collector has acknowledged as durable");
}
Counter& retries() {
  return counter("fathom_agent_capture_retries_total", "Captures that the collector asked to send again later");
}
Gauge& memory() {
  return gauge("fathom_agent_capture_memory_bytes", "Bytes of captures that are not durable yet");
}
Counter& referring() {
  return counter("fathom_agent_shared_captures_total",
                 "Durable captures that refer to the content of an earlier capture, which was not sent again");
}
Counter& lost(const char* reason) {
  return counter("fathom_agent_lost_captures_total", "Captures that were made and are not stored, by reason",
                 label("reason", reason));
}

constexpr std::array<const char*, 4> kReasons = {"refused", "no_room", "not_taken", "unsent"};

}  // namespace

CaptureCourier::CaptureCourier(uint64_t memory_bytes, Surroundings surroundings)
    : most_memory_bytes_(memory_bytes), surroundings_(std::move(surroundings)), random_(std::random_device()()) {
  static_assert(kReasons.size() == kLosses);
  for (const char* reason : kReasons) lost(reason);
  durable(), retries(), memory(), referring();
}

void CaptureCourier::send(OutgoingCapture capture, std::function<void(CaptureFate)> done) {
  if (std::optional<Loss> loss = why_not(capture)) {
    count(*loss);
    return tell(std::move(done), fate_of(*loss));
  }
  auto parcel = std::make_shared<Parcel>();
  parcel->capture = std::move(capture);
  parcel->capture.begin.size_bytes = parcel->capture.content->size();
  parcel->done = std::move(done);
  charge(parcel->capture.content);
  const auto place = parcel->capture.can_wait ? waiting_.end() : first_that_can_wait();
  waiting_.insert(place, std::move(parcel));
  show();
}

CaptureFate CaptureCourier::fate_of(Loss loss) {
  constexpr std::array kFates = {CaptureFate::kRefused, CaptureFate::kNoRoom, CaptureFate::kNotTaken};
  static_assert(kFates.size() == static_cast<size_t>(Loss::kUnsent), "each loss but this one has a fate");
  assert(loss != Loss::kUnsent);
  return kFates[static_cast<size_t>(loss)];
}

std::optional<CaptureCourier::Loss> CaptureCourier::why_not(const OutgoingCapture& capture) const {
  if (capture.content == nullptr || capture.content->empty() || is_here(capture.begin.id)) return Loss::kRefused;
  if (welcome_ && most_bytes_ == 0) return Loss::kNotTaken;
  if (welcome_ && capture.content->size() > most_bytes_) return Loss::kRefused;
  if (waiting_.size() + under_way_.size() >= kMostCaptures) return Loss::kNoRoom;
  const bool is_new = !is_held(capture.content);
  if (is_new && capture.content->size() > most_memory_bytes_ - memory_bytes_) return Loss::kNoRoom;
  return std::nullopt;
}

bool CaptureCourier::is_held(const ContentPtr& content) const {
  const auto known = contents_.find(content);
  return known != contents_.end() && known->second.captures > 0;
}

void CaptureCourier::charge(const ContentPtr& content) {
  std::erase_if(contents_, [](const auto& entry) { return entry.first.expired(); });
  if (contents_[content].captures++ == 0) memory_bytes_ += content->size();
}

void CaptureCourier::discharge(const ContentPtr& content) {
  if (--contents_.at(content).captures == 0) memory_bytes_ -= content->size();
}

// The collector ends the stream if one capture is under way twice.
bool CaptureCourier::is_here(const CaptureId& id) const {
  auto same = [&](const ParcelPtr& parcel) { return parcel->capture.begin.id == id; };
  return std::any_of(waiting_.begin(), waiting_.end(), same) || std::any_of(under_way_.begin(), under_way_.end(), same);
}

void CaptureCourier::welcomed(const ingest::Welcome& welcome) {
  welcome_ = true;
  most_bytes_ = welcome.max_capture_bytes;
  most_under_way_bytes_ = welcome.max_capture_bytes_under_way;
  shares_contents_ = welcome.shares_capture_contents;
  std::deque<ParcelPtr> waiting = std::exchange(waiting_, {});
  for (const ParcelPtr& parcel : waiting) {
    if (parcel->size() <= most_bytes_)
      waiting_.push_back(parcel);
    else
      lose(*parcel, most_bytes_ == 0 ? Loss::kNotTaken : Loss::kRefused);
  }
}

void CaptureCourier::link_ended() {
  welcome_ = false;
  blocked_until_nano_ = 0;
  std::deque<ParcelPtr> under_way = std::exchange(under_way_, {});
  // In reverse order, so that the first one is in front again.
  for (auto at = under_way.rbegin(); at != under_way.rend(); ++at) take_back(*at);
}

void CaptureCourier::take_back(const ParcelPtr& parcel) {
  under_way_bytes_ -= parcel->sent_bytes - parcel->taken_bytes;
  parcel->sent_bytes = parcel->taken_bytes = 0;
  parcel->capture.begin.content_is_stored = false;
  waiting_.insert(parcel->capture.can_wait ? first_that_can_wait() : waiting_.begin(), parcel);
}

std::deque<CaptureCourier::ParcelPtr>::iterator CaptureCourier::first_that_can_wait() {
  return std::ranges::find_if(waiting_, [](const ParcelPtr& parcel) { return parcel->capture.can_wait; });
}

// ---- what goes out

void CaptureCourier::pump(Link& link) {
  if (!under_way_.empty()) send_parts(*under_way_.back(), link);
  while (may_begin() && begin_next(link)) {
  }
}

bool CaptureCourier::may_begin() const {
  if (!welcome_ || under_way_.size() >= kMostUnderWay) return false;
  if (under_way_bytes_ >= most_under_way_bytes_ || surroundings_.now_nano() < blocked_until_nano_) return false;
  return under_way_.empty() || under_way_.back()->all_sent();
}

// True while another capture with the same content is being sent.
bool CaptureCourier::waits_for_content(const ParcelPtr& parcel) const {
  if (!shares_contents_ || parcel->capture.begin.sha256.is_zero()) return false;
  return std::ranges::any_of(under_way_, [&](const ParcelPtr& other) {
    return other->capture.content == parcel->capture.content && !other->refers();
  });
}

bool CaptureCourier::begin_next(Link& link) {
  const auto next =
      std::ranges::find_if(waiting_, [this](const ParcelPtr& parcel) { return !waits_for_content(parcel); });
  if (next == waiting_.end()) return false;
  ParcelPtr parcel = std::move(*next);
  waiting_.erase(next);
  ingest::CaptureBegin& begin = parcel->capture.begin;
  if (!begin.clock) begin.clock = surroundings_.offset(parcel->capture.made);
  begin.content_is_stored =
      shares_contents_ && !begin.sha256.is_zero() && contents_.at(parcel->capture.content).is_stored;
  link.send_capture(encode(begin), nullptr, {});
  under_way_.push_back(parcel);
  send_parts(*parcel, link);
  return true;
}

void CaptureCourier::send_parts(Parcel& parcel, Link& link) {
  const std::string_view content = *parcel.capture.content;
  while (!parcel.all_sent()) {
    std::string_view part = content.substr(parcel.sent_bytes, std::min(kPartBytes, most_under_way_bytes_));
    if (part.empty() || part.size() > most_under_way_bytes_ - std::min(under_way_bytes_, most_under_way_bytes_)) return;
    link.send_capture(ingest::capture_part_head(parcel.capture.begin.id, parcel.sent_bytes, part.size()),
                      parcel.capture.content, part);
    parcel.sent_bytes += part.size();
    under_way_bytes_ += part.size();
  }
}

// ---- what comes back

void CaptureCourier::heard(const ingest::CaptureProgress& progress) {
  auto same = [&](const ParcelPtr& parcel) { return parcel->capture.begin.id == progress.id; };
  auto found = std::find_if(under_way_.begin(), under_way_.end(), same);
  if (found == under_way_.end()) return;
  ParcelPtr parcel = *found;
  // What it says it took is what was sent: anything else is not believed.
  uint64_t taken = std::clamp(progress.taken_bytes, parcel->taken_bytes, parcel->sent_bytes);
  under_way_bytes_ -= taken - parcel->taken_bytes;
  parcel->taken_bytes = taken;
  if (progress.state == ingest::CaptureProgress::State::kTaken) return;
  under_way_.erase(found);
  if (progress.state == ingest::CaptureProgress::State::kRetry) return retry(parcel, progress.retry_after_nano);
  under_way_bytes_ -= parcel->sent_bytes - parcel->taken_bytes;
  if (progress.state == ingest::CaptureProgress::State::kRefused) {
    log_warning("the collector permanently rejected a capture: " + progress.message);
    return lose(*parcel, Loss::kRefused);
  }
  durable().add();
  if (parcel->refers()) referring().add();
  contents_.at(parcel->capture.content).is_stored = true;
  settle(*parcel, CaptureFate::kDurable);
}

void CaptureCourier::retry(const ParcelPtr& parcel, uint64_t delay_nano) {
  retries().add();
  if (parcel->refers()) contents_.at(parcel->capture.content).is_stored = false;
  uint64_t delay = std::clamp(delay_nano, 10 * kNanosPerMilli, kMostCaptureRetryNano);
  delay += random_() % (delay / 4 + 1);  // so that not all agents retry at the same time
  blocked_until_nano_ = std::max(blocked_until_nano_, surroundings_.now_nano() + delay);
  take_back(parcel);
}

void CaptureCourier::settle(Parcel& parcel, CaptureFate fate) {
  discharge(parcel.capture.content);
  show();
  tell(std::exchange(parcel.done, nullptr), fate);
}

void CaptureCourier::lose(Parcel& parcel, Loss loss) {
  count(loss);
  settle(parcel, fate_of(loss));
}

void CaptureCourier::give_up() {
  for (size_t left = waiting_.size() + under_way_.size(); left > 0; --left) count(Loss::kUnsent);
  waiting_.clear();
  under_way_.clear();
  contents_.clear();
  memory_bytes_ = under_way_bytes_ = 0;
  show();
}

void CaptureCourier::count(Loss loss) {
  auto at = static_cast<size_t>(loss);
  ++losses_[at];
  lost(kReasons[at]).add();
}

// Not from within the caller's own call.
void CaptureCourier::tell(std::function<void(CaptureFate)> done, CaptureFate fate) {
  if (done) surroundings_.post([done = std::move(done), fate] { done(fate); });
}

void CaptureCourier::show() const {
  memory().set(static_cast<int64_t>(memory_bytes_));
}

std::vector<std::pair<std::string, uint64_t>> CaptureCourier::losses() const {
  std::vector<std::pair<std::string, uint64_t>> named;
  for (size_t i = 0; i < kLosses; ++i) {
    if (losses_[i] > 0) named.emplace_back(std::string("capture_") + kReasons[i], losses_[i]);
  }
  return named;
}

}  // namespace fathom::agent
