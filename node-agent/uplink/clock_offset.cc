#include "node-agent/uplink/clock_offset.h"

#include <algorithm>

namespace fathom::agent {

namespace {

constexpr uint64_t kMostUnixNano = uint64_t{1} << 62;  // year 2116: beyond it differences do not fit
constexpr int64_t kMostWideningNano = int64_t{1} << 61;

// What `nano` of time may add to a difference of two clocks, at so many parts per million.
int64_t drift(uint64_t nano, uint64_t ppm) {
  auto wide = static_cast<unsigned __int128>(nano) * ppm / 1'000'000 + 1;
  return wide > static_cast<unsigned __int128>(kMostWideningNano) ? kMostWideningNano : static_cast<int64_t>(wide);
}

uint64_t distance(uint64_t a, uint64_t b) {
  return a > b ? a - b : b - a;
}

bool plausible(const ProbeTimes& times) {
  return times.received_boot_nano >= times.sent_boot_nano && times.received_boot_nano < kMostUnixNano &&
         times.collector_sent_unix_nano >= times.collector_received_unix_nano &&
         times.collector_sent_unix_nano < kMostUnixNano &&
         times.collector_sent_unix_nano - times.collector_received_unix_nano <=
             times.received_boot_nano - times.sent_boot_nano;
}

}  // namespace

uint64_t OffsetEstimator::drift_in(uint64_t nano) {
  return static_cast<uint64_t>(drift(nano, kDriftPpm));
}

// A message cannot arrive before it is sent: that bounds the difference from one side on each way.
void OffsetEstimator::probed(const ProbeTimes& times) {
  if (!plausible(times)) return;
  Bounds now;
  now.at_boot_nano = times.received_boot_nano;
  // The upper bound is from the probe's sending, a little earlier.
  int64_t aged = drift(times.received_boot_nano - times.sent_boot_nano, kDriftPpm);
  now.low = static_cast<int64_t>(times.collector_sent_unix_nano - times.received_boot_nano);
  now.high = static_cast<int64_t>(times.collector_received_unix_nano - times.sent_boot_nano) + aged;
  if (std::optional<Bounds> before = common(now.at_boot_nano)) {
    bool apart = before->low > now.high || before->high < now.low;
    if (apart) bounds_.clear();
  }
  if (bounds_.empty()) ++epochs_;
  bounds_.push_back(now);
  if (bounds_.size() > kKept) bounds_.pop_front();
}

OffsetEstimator::Bounds OffsetEstimator::at_moment(const Bounds& bounds, uint64_t boot_nano) {
  int64_t aged = drift(distance(bounds.at_boot_nano, boot_nano), kDriftPpm);
  return {boot_nano, bounds.low - aged, bounds.high + aged};
}

// Bounds within one epoch have something in common, but for what clocks do that drift more than is allowed for: then
// the newest has the say.
std::optional<OffsetEstimator::Bounds> OffsetEstimator::common(uint64_t boot_nano) const {
  std::optional<Bounds> result;
  for (auto bounds = bounds_.rbegin(); bounds != bounds_.rend(); ++bounds) {
    Bounds moved = at_moment(*bounds, boot_nano);
    if (!result) result = moved;
    int64_t low = std::max(result->low, moved.low), high = std::min(result->high, moved.high);
    if (low <= high) result = Bounds{boot_nano, low, high};
  }
  return result;
}

std::optional<ClockOffset> OffsetEstimator::at(const LocalInstant& instant) {
  std::optional<Bounds> bounds = common(instant.boot_nano);
  if (!bounds) return std::nullopt;
  const uint64_t width = static_cast<uint64_t>(bounds->high) - static_cast<uint64_t>(bounds->low);
  const auto lowest =
      static_cast<int64_t>(static_cast<uint64_t>(bounds->low) - (instant.real_nano - instant.boot_nano));
  // Modulo 2^64: what is told may be far below the bounds.
  uint64_t above_lowest = static_cast<uint64_t>(told_nano_) - static_cast<uint64_t>(lowest);
  if (above_lowest > width) {
    above_lowest = width / 2;
    told_nano_ = static_cast<int64_t>(static_cast<uint64_t>(lowest) + above_lowest);
  }
  return ClockOffset{told_nano_, std::max(above_lowest, width - above_lowest) + 1 + instant.uncertain_nano};
}

LocalInstant StepWatch::mark(LocalInstant instant) {
  if (last_) {
    auto moved = static_cast<int64_t>((instant.real_nano - instant.boot_nano) - (last_->real_nano - last_->boot_nano));
    uint64_t step = moved < 0 ? 0 - static_cast<uint64_t>(moved) : static_cast<uint64_t>(moved);
    uint64_t slew = static_cast<uint64_t>(drift(distance(instant.boot_nano, last_->boot_nano), kSlewPpm));
    if (step > kLeastStepNano + slew) {
      bool settling = step_nano_ > 0 && instant.boot_nano - stepped_at_boot_nano_ < kSettlesNano;
      step_nano_ = settling ? step_nano_ + step : step;
      stepped_at_boot_nano_ = instant.boot_nano;
    }
  }
  last_ = instant;
  if (step_nano_ > 0 && instant.boot_nano - stepped_at_boot_nano_ < kSettlesNano) instant.uncertain_nano = step_nano_;
  return instant;
}

}  // namespace fathom::agent
