#include "query/timeline/runners.h"

#include <algorithm>
#include <iterator>

#include "query/timeline/recorded_time.h"
#include "query/timeline/thread_states.h"

namespace fathom::query {

namespace {

constexpr uint64_t kNearNano = 20'000;

}  // namespace

Runners::Runners(const Timeline& timeline, const TimelineProcess& process, Meter& meter) {
  for (size_t c : process.captures) {
    const TimelineCapture& capture = timeline.captures[c];
    if (capture.content->kernel_complete_from_nano != 0) windows_.push_back(window_of(capture, meter));
  }
}

Runners::Window Runners::window_of(const TimelineCapture& capture, Meter& meter) {
  StateWindow window = complete_kernel(*capture.content);
  Window out{.known = {capture.unix_nano(window.from_nano), capture.unix_nano(window.to_nano)}};
  if (!meter.spend(capture.content->threads.size() * sizeof(Thread))) return out;
  for (const capture::Thread& thread : capture.content->threads) {
    if (!meter.going_on()) break;
    out.threads.push_back(thread_of(capture, thread, meter));
  }
  std::ranges::sort(out.threads, {}, &Thread::tid);
  return out;
}

Runners::Thread Runners::thread_of(const TimelineCapture& capture, const capture::Thread& thread, Meter& meter) {
  Thread out{.tid = thread.tid};
  std::vector<const capture::KernelEvent*> events;
  events.reserve(thread.kernel_events.size());
  for (const auto& event : thread.kernel_events) events.push_back(&event);
  std::vector<uint64_t> ran;
  for (const auto& event : thread.events) ran.push_back(event.monotonic_nano);
  if (!meter.step(events.size() + ran.size())) return out;
  for (const StateInterval& state : thread_states(events, complete_kernel(*capture.content), ran)) {
    if (state.state != ThreadState::kRunning && state.state != ThreadState::kUnknown) continue;
    out.ran.push_back({capture.unix_nano(state.begin_nano), capture.unix_nano(state.end_nano)});
  }
  meter.spend(out.ran.size() * sizeof(Interval));
  return out;
}

std::optional<std::vector<uint32_t>> Runners::at(uint64_t unix_nano, Meter& meter) const {
  auto knows = [&](const Window& window) {
    return window.known.begin_unix_nano + kNearNano <= unix_nano && unix_nano + kNearNano <= window.known.end_unix_nano;
  };
  auto window = std::ranges::find_if(windows_, knows);
  if (window == windows_.end()) return std::nullopt;
  std::vector<uint32_t> tids;
  for (const Thread& thread : window->threads) {
    if (!meter.step()) break;
    auto after = std::ranges::upper_bound(thread.ran, unix_nano + kNearNano, {}, &Interval::begin_unix_nano);
    bool near = after != thread.ran.begin() && std::prev(after)->end_unix_nano + kNearNano >= unix_nano;
    if (near) tids.push_back(thread.tid);
  }
  return tids;
}

std::optional<uint32_t> Runners::only_one(uint64_t begin_unix_nano, uint64_t end_unix_nano, Meter& meter) const {
  auto first = at(begin_unix_nano, meter);
  auto last = at(end_unix_nano, meter);
  if (!first) first.swap(last);
  if (!first) return std::nullopt;
  std::vector<uint32_t> both;
  if (last) std::ranges::set_intersection(*first, *last, std::back_inserter(both));
  const std::vector<uint32_t>& candidates = last ? both : *first;
  return candidates.size() == 1 ? std::optional(candidates.front()) : std::nullopt;
}

}  // namespace fathom::query
