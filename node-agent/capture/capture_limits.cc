#include "node-agent/capture/capture_limits.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace fathom::agent {

namespace {

using capture::Event;
using capture::KernelEvent;
using capture::Thread;

uint64_t newest_nano(const Event& event) {
  return event.monotonic_nano;
}
// Of a system call its end: one that began before all that is known may have just ended.
uint64_t newest_nano(const KernelEvent& event) {
  return std::max(event.monotonic_nano, event.end_nano);
}

uint64_t bytes_of(const KernelEvent& event) {
  return sizeof event + event.other_name.size();
}

bool is_text(capture::FieldType type) {
  return type == capture::FieldType::kText || type == capture::FieldType::kBytes;
}

// An upper bound of the bytes of each, and when it was.
class Costs {
 public:
  explicit Costs(const capture::Capture& capture) {
    for (const Thread& thread : capture.threads) {
      for (const Event& event : thread.events) add(newest_nano(event), bytes_of(capture, thread, event));
      for (const KernelEvent& event : thread.kernel_events) add(newest_nano(event), agent::bytes_of(event));
    }
  }

  // The youngest time whose events do not fit any more; 0: all fit.
  uint64_t cut(const CaptureLimits& limits) {
    if (costs_.size() <= limits.most_events && bytes_ <= limits.most_bytes) return 0;
    std::ranges::sort(costs_, std::greater<>());
    uint64_t bytes = 0;
    for (size_t i = 0; i < costs_.size(); ++i) {
      bytes += costs_[i].second;
      if (i >= limits.most_events || bytes > limits.most_bytes) return costs_[i].first;
    }
    return 0;
  }

 private:
  static uint64_t bytes_of(const capture::Capture& capture, const Thread& thread, const Event& event) {
    uint64_t bytes = sizeof event + event.values * sizeof(capture::Value);
    const capture::Field* field = capture.tracepoints[event.tracepoint].fields.data();
    for (capture::Value value : thread.values_of(event)) bytes += is_text((field++)->type) ? value.text_bytes() : 0;
    return bytes;
  }
  void add(uint64_t nano, uint64_t bytes) {
    costs_.emplace_back(nano, bytes);
    bytes_ += bytes;
  }

  std::vector<std::pair<uint64_t, uint64_t>> costs_;
  uint64_t bytes_ = 0;
};

template <typename Item>
uint64_t leave_out(std::vector<Item>& items, uint64_t cut_nano) {
  return std::erase_if(items, [&](const Item& item) { return newest_nano(item) <= cut_nano; });
}

// A cheap look, which is enough nearly always.
bool surely_fits(const capture::Capture& capture, const CaptureLimits& limits) {
  uint64_t events = 0, bytes = 0;
  for (const Thread& thread : capture.threads) {
    events += thread.events.size() + thread.kernel_events.size();
    bytes += thread.events.size() * sizeof(Event) + thread.values.size() * sizeof(capture::Value) + thread.texts.size();
    for (const KernelEvent& event : thread.kernel_events) bytes += bytes_of(event);
  }
  return events <= limits.most_events && bytes <= limits.most_bytes;
}

}  // namespace

LeftOut keep_newest(capture::Capture& capture, const CaptureLimits& limits) {
  LeftOut left_out;
  if (surely_fits(capture, limits)) return left_out;
  left_out.until_nano = Costs(capture).cut(limits);
  if (left_out.until_nano == 0) return left_out;
  // The values stay where they are: only those of events are encoded.
  for (Thread& thread : capture.threads) {
    left_out.events += leave_out(thread.events, left_out.until_nano);
    left_out.kernel_events += leave_out(thread.kernel_events, left_out.until_nano);
  }
  return left_out;
}

}  // namespace fathom::agent
