#include "node-agent/clock/tick_times.h"

#include <algorithm>
#include <cstdlib>

namespace fathom::agent {

namespace {

constexpr uint64_t kKeepEveryNano = 1'000'000'000;
constexpr size_t kMostReadings = 4096;  // an hour of seconds, then coarser
constexpr uint64_t kLeastBaselineNano = 1'000'000;
constexpr int64_t kSleptNano = 1'000'000;  // CLOCK_BOOTTIME runs away by more: the host slept
// A counter whose rate changes by more between two readings is another counter: a virtual machine moved, or slept.
constexpr int64_t kRateDoubtPerMille = 2;
// CLOCK_REALTIME and CLOCK_MONOTONIC are slewed together, so their difference is constant between steps; less than
// this is the noise of reading them, which must not move spans of one trace against each other.
constexpr int64_t kNoiseNano = 5'000;

int64_t difference(uint64_t a, uint64_t b) {
  return static_cast<int64_t>(a - b);
}
uint64_t magnitude(int64_t value) {
  return value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}
uint64_t slept_nano(const ClockReading& reading) {
  return reading.boot_nano - reading.monotonic_nano;
}
uint64_t ticks_in(uint64_t nano, uint64_t rate) {
  return rate == 0 ? 0 : static_cast<uint64_t>((static_cast<unsigned __int128>(nano) << 48) / rate);
}
uint64_t rate_between(const ClockReading& first, const ClockReading& last) {
  unsigned __int128 nano = last.monotonic_nano - first.monotonic_nano;
  return static_cast<uint64_t>((nano << 48) / std::max<uint64_t>(last.ticks - first.ticks, 1));
}

}  // namespace

void TickTimes::update(const ClockReading& now) {
  bool begins_epoch = readings_.empty() || is_new_epoch(now);
  size_t size = readings_.size();
  if (!begins_epoch && size >= readings_.back().epoch + 2 &&
      now.monotonic_nano - readings_[size - 2].at.monotonic_nano < kKeepEveryNano) {
    readings_.back().at = now;
  } else {
    append(now, begins_epoch);
  }
  segment_ = {};
  measure_rate();
  uint64_t real_minus_boot = now.real_nano - now.boot_nano;
  if (magnitude(difference(real_minus_boot, real_minus_boot_nano_)) > kNoiseNano)
    real_minus_boot_nano_ = real_minus_boot;
}

void TickTimes::append(const ClockReading& now, bool begins_epoch) {
  if (begins_epoch) {
    readings_.push_back({now, slept_nano(now), readings_.size()});
  } else {
    readings_.push_back({now, readings_.back().slept_nano, readings_.back().epoch});
  }
  if (readings_.size() > kMostReadings) thin_out();
}

bool TickTimes::is_new_epoch(const ClockReading& now) const {
  const ClockReading& before = readings_.back().at;
  if (now.ticks < before.ticks) return true;
  if (magnitude(difference(slept_nano(now), slept_nano(before))) > kSleptNano) return true;
  if (rate_ == 0) return false;
  uint64_t passed = now.monotonic_nano - before.monotonic_nano;
  uint64_t expected = scaled(now.ticks - before.ticks, rate_);
  return magnitude(difference(passed, expected)) > kSleptNano + passed * kRateDoubtPerMille / 1000;
}

void TickTimes::measure_rate() {
  const ClockReading& last = readings_.back().at;
  const ClockReading& first = readings_[readings_.back().epoch].at;
  if (last.monotonic_nano - first.monotonic_nano < kLeastBaselineNano) return;
  rate_known_ = true;  // also on a host without a counter: there is none to know
  if (last.ticks > first.ticks) rate_ = rate_between(first, last);
}

// Newest epoch first: where a counter began anew, a tick of today is likelier than the same tick of long ago.
void TickTimes::find_segment(uint64_t ticks) {
  for (size_t end = readings_.size();;) {
    size_t begin = readings_[end - 1].epoch;
    const Reading& first = readings_[begin];
    if (ticks >= first.at.ticks) {
      auto after = std::upper_bound(readings_.begin() + static_cast<ptrdiff_t>(begin),
                                    readings_.begin() + static_cast<ptrdiff_t>(end), ticks,
                                    [](uint64_t value, const Reading& reading) { return value < reading.at.ticks; });
      size_t index = static_cast<size_t>(after - readings_.begin()) - 1;
      if (index + 1 < end) return segment_between(readings_[index], readings_[index + 1]);
      return segment_after(ticks, readings_[index], end < readings_.size() ? &readings_[end] : nullptr);
    }
    if (begin == 0) return segment_before_all(first);
    if (uint64_t back_nano = scaled(first.at.ticks - ticks, rate_); is_near(ticks, back_nano, begin))
      return segment_at(ticks, first.at.monotonic_nano - back_nano, first.slept_nano);
    end = begin;
  }
}

// Of a tick in the gap before an epoch, `back_nano` before its first reading: whether it belongs there rather than to
// the end of the epoch before. Where in the gap the host slept is not known; the nearer side it is.
bool TickTimes::is_near(uint64_t ticks, uint64_t back_nano, size_t epoch) const {
  const ClockReading& last = readings_[epoch - 1].at;
  if (back_nano > readings_[epoch].at.monotonic_nano - last.monotonic_nano) return false;
  return ticks < last.ticks || back_nano < scaled(ticks - last.ticks, rate_);
}

void TickTimes::segment_between(const Reading& first, const Reading& last) {
  segment_ = {.first_ticks = first.at.ticks,
              .last_ticks = last.at.ticks,
              .base_nano = first.at.monotonic_nano,
              .rate = rate_between(first.at, last.at),
              .slept_nano = first.slept_nano};
}

void TickTimes::segment_after(uint64_t ticks, const Reading& last, const Reading* next) {
  if (next != nullptr) {  // the gap between two epochs: not beyond its end
    uint64_t forward_nano = scaled(ticks - last.at.ticks, rate_);
    uint64_t gap_nano = next->at.monotonic_nano - last.at.monotonic_nano;
    return segment_at(ticks, last.at.monotonic_nano + std::min(forward_nano, gap_nano), last.slept_nano);
  }
  segment_ = {.first_ticks = last.at.ticks,
              .last_ticks = UINT64_MAX,
              .base_nano = last.at.monotonic_nano,
              .rate = rate_,
              .slept_nano = last.slept_nano};
}

// Before our own first reading: programs are older than their agent.
void TickTimes::segment_before_all(const Reading& first) {
  segment_ = {.first_ticks = 0,
              .last_ticks = first.at.ticks - 1,
              .base_nano = first.at.monotonic_nano - scaled(first.at.ticks, rate_),
              .rate = rate_,
              .slept_nano = first.slept_nano};
}

void TickTimes::segment_at(uint64_t ticks, uint64_t monotonic_nano, uint64_t slept_nano) {
  segment_ = {.first_ticks = ticks, .last_ticks = ticks, .base_nano = monotonic_nano, .slept_nano = slept_nano};
}

// Of the last reading until then, or of the first one.
size_t TickTimes::index_before(uint64_t monotonic_nano) const {
  auto after = std::ranges::upper_bound(readings_, monotonic_nano, {},
                                        [](const Reading& reading) { return reading.at.monotonic_nano; });
  return after == readings_.begin() ? 0 : static_cast<size_t>(after - readings_.begin()) - 1;
}

// Of the first reading from then on, or of the last one.
size_t TickTimes::index_behind(uint64_t monotonic_nano) const {
  auto behind = std::ranges::lower_bound(readings_, monotonic_nano, {},
                                         [](const Reading& reading) { return reading.at.monotonic_nano; });
  return static_cast<size_t>(behind - readings_.begin()) - (behind == readings_.end() ? 1 : 0);
}

TickTimes::Place TickTimes::place_of_monotonic(uint64_t nano) const {
  return {nano, readings_[index_before(nano)].slept_nano};
}

bool TickTimes::crosses_jump(uint64_t begin_nano, uint64_t end_nano) const {
  return readings_[index_before(begin_nano)].epoch != readings_[index_behind(end_nano)].epoch;
}

uint64_t TickTimes::ticks_at(pool::Clock clock, uint64_t monotonic_nano) const {
  if (clock != pool::Clock::kTsc) return monotonic_nano;
  size_t index = index_before(monotonic_nano);
  const Reading& near = readings_[index];
  bool is_between = monotonic_nano >= near.at.monotonic_nano && index + 1 < readings_.size() &&
                    readings_[index + 1].epoch == near.epoch;
  uint64_t rate = is_between ? rate_between(near.at, readings_[index + 1].at) : rate_;
  if (monotonic_nano >= near.at.monotonic_nano)
    return near.at.ticks + ticks_in(monotonic_nano - near.at.monotonic_nano, rate);
  return near.at.ticks - std::min(ticks_in(near.at.monotonic_nano - monotonic_nano, rate), near.at.ticks);
}

std::vector<capture::Anchor> TickTimes::anchors(uint64_t begin_nano, uint64_t end_nano) const {
  std::vector<capture::Anchor> anchors;
  const size_t last = std::max(index_before(begin_nano), index_behind(end_nano));
  uint32_t epoch = 0;
  for (size_t i = index_before(begin_nano); i <= last; ++i) {
    const Reading& reading = readings_[i];
    if (!anchors.empty() && readings_[i - 1].epoch != reading.epoch) ++epoch;
    anchors.push_back({.monotonic_nano = reading.at.monotonic_nano,
                       .unix_nano = reading.at.monotonic_nano + reading.slept_nano + real_minus_boot_nano_,
                       .epoch = epoch});
  }
  return anchors;
}

// Every second one of the older half goes; the first and the last of an epoch say where it lies and stay, until there
// are so many epochs that the oldest must go.
void TickTimes::thin_out() {
  std::vector<Reading> kept;
  auto is_edge = [&](size_t i) {
    return readings_[i].epoch == i || i + 1 == readings_.size() || readings_[i + 1].epoch == i + 1;
  };
  for (size_t i = 0; i < readings_.size(); ++i) {
    if (i >= readings_.size() / 2 || i % 2 == 0 || is_edge(i)) kept.push_back(readings_[i]);
  }
  if (kept.size() > kMostReadings * 3 / 4 + 2)
    kept.erase(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(kMostReadings / 4));
  for (size_t i = 0, old_epoch = SIZE_MAX; i < kept.size(); ++i) {
    bool begins = kept[i].epoch != old_epoch;
    old_epoch = kept[i].epoch;
    kept[i].epoch = begins ? i : kept[i - 1].epoch;
  }
  readings_ = std::move(kept);
}

}  // namespace fathom::agent
