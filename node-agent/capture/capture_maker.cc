#include "node-agent/capture/capture_maker.h"

#include <algorithm>

#include "capture/encode.h"
#include "node-agent/capture/event_collector.h"
#include "node-agent/capture/kernel_collector.h"

namespace fathom::agent {

namespace {

// Of conversions there and back.
constexpr uint64_t kRoundingTicks = 16;
// Of a snapshot's bytes to those of a capture; hardly any have more.
constexpr size_t kLikelyRatio = 2;

class CaptureMaker {
 public:
  CaptureMaker(CaptureInput input, const CaptureLimits& limits)
      : input_(std::move(input)),
        limits_(limits),
        threads_(std::move(input_.identify), limits.most_threads),
        encoder_(input_.detail == nullptr ? 0 : input_.detail->bytes() / kLikelyRatio) {}
  Result<MadeCapture> make();

 private:
  void take_facts();
  void take_open_spans();
  void take_events();
  void take_kernel_events();
  uint64_t complete_from_nano();
  void count(std::string name, uint64_t many) {
    if (many != 0) capture_.losses.emplace_back(std::move(name), many);
  }
  void count(const DecodeCounts& counts);
  void count(const KernelLosses& losses);

  CaptureInput input_;
  const CaptureLimits& limits_;
  ThreadTable threads_;
  capture::CaptureEncoder encoder_;
  capture::Capture capture_;  // all but the events
  bool truncated_ = false;
};

void CaptureMaker::take_facts() {
  capture_.begin_nano = input_.begin_nano;
  capture_.end_nano = input_.end_nano;
  capture_.trigger_nano = input_.trigger_nano;
  capture_.pid = input_.pid;
  capture_.service = std::move(input_.service);
  capture_.reason = std::move(input_.reason);
  capture_.ended = input_.ended;
  capture_.anchors = input_.times.anchors(input_.begin_nano, input_.end_nano);
}

void CaptureMaker::take_open_spans() {
  size_t many = std::min(input_.open.size(), limits_.most_open_spans);
  uint64_t without_thread = 0;
  for (OpenSpanOfThread& open : std::span(input_.open).first(many)) {
    capture::Thread* thread = threads_.of_program(open.tid);
    if (thread == nullptr) {
      ++without_thread;
      continue;
    }
    uint64_t start_nano = input_.times.monotonic_nano(input_.open_clock, open.start_ticks);
    thread->open.push_back({open.span, start_nano, open.kind, std::move(open.name)});
  }
  count("over_limit_open_spans", input_.open.size() - many + without_thread);
}

// Of what was overwritten or left out, missing_until_ticks is the youngest: what is younger is there. In discard mode
// it is the other way round, the youngest are missing, and nobody knows from when on: nothing is sure. After the
// counter jumped, ticks from before are not comparable: those look like ones to come, and again nothing is sure.
uint64_t CaptureMaker::complete_from_nano() {
  const DetailSnapshot* detail = input_.detail;
  if (detail == nullptr || (detail->missing_until_ticks == 0 && detail->shape.mode != pool::DetailMode::kDiscard))
    return input_.begin_nano;
  if (detail->missing_until_ticks == UINT64_MAX || detail->shape.mode == pool::DetailMode::kDiscard)
    return input_.end_nano;
  uint64_t nano = input_.times.monotonic_nano(detail->shape.clock, detail->missing_until_ticks);
  return std::clamp(std::min(nano, UINT64_MAX - 1) + 1, input_.begin_nano, input_.end_nano);
}

void CaptureMaker::take_events() {
  capture_.events_complete_from_nano = complete_from_nano();
  if (input_.detail == nullptr) return;
  EventCollector collector(capture_, encoder_.body(), threads_, input_.times, limits_.most_spans_in_sets);
  DecodeCounts counts = collector.collect(*input_.detail);
  for (auto& [name, many] : input_.detail->losses.list()) count(std::move(name), many);
  count(counts);
  count("damaged_descriptions", input_.detail->table.damaged());
  count("over_limit_threads_events", collector.events_without_thread());
  count("over_limit_spans_events", collector.events_without_spans());
  truncated_ = input_.detail->losses.over_budget_chunks != 0 || collector.events_without_thread() != 0;
}

void CaptureMaker::count(const DecodeCounts& counts) {
  count("holes", counts.walk.holes);
  count("hole_bytes", counts.walk.hole_bytes);
  count("unknown_records", counts.walk.unknown_records);
  count("malformed_records", counts.walk.malformed_records);
  count("dropped_spans", counts.walk.dropped_spans);
  count("unknown_tracepoints", counts.unknown_tracepoints);
  count("malformed_payloads", counts.malformed_payloads);
}

void CaptureMaker::take_kernel_events() {
  if (input_.kernel == nullptr) {
    capture_.kernel_missing = std::move(input_.kernel_missing);
    return;
  }
  capture_.kernel_complete_from_nano = std::max<uint64_t>(input_.kernel->complete_from_nano, 1);
  uint64_t without_thread = collect_kernel_events(*input_.kernel, input_.pid, threads_);
  count("over_limit_threads_kernel_events", without_thread);
  count(input_.kernel->losses);
  truncated_ = truncated_ || without_thread != 0 || input_.kernel->losses.left_out != 0;
}

void CaptureMaker::count(const KernelLosses& losses) {
  count("kernel_overwritten", losses.overwritten);
  count("kernel_torn", losses.torn);
  count("kernel_left_out", losses.left_out);
  count("kernel_no_slot", losses.no_slot);
  count("kernel_missed", losses.missed);
}

Result<MadeCapture> CaptureMaker::make() {
  take_facts();
  take_open_spans();
  take_events();
  take_kernel_events();
  capture_.threads = threads_.take([this](uint32_t tid) { return encoder_.body().has_events(tid); });
  Result<std::string> content = encoder_.finish(capture_);
  if (!content) return content.error();
  return MadeCapture{*std::move(content), truncated_, input_.times.crosses_jump(input_.begin_nano, input_.end_nano),
                     std::move(capture_.losses)};
}

}  // namespace

Result<MadeCapture> make_capture(CaptureInput input, const CaptureLimits& limits) {
  input.end_nano = std::max(input.begin_nano, input.end_nano);
  return CaptureMaker(std::move(input), limits).make();
}

TickWindow tick_window(const TickTimes& times, pool::Clock clock, uint64_t begin_nano, uint64_t end_nano,
                       uint64_t now_nano) {
  TickWindow window{.now_ticks = times.ticks_at(clock, now_nano)};
  if (clock == pool::Clock::kTsc && times.crosses_jump(begin_nano, end_nano)) return window;
  uint64_t begin_ticks = times.ticks_at(clock, begin_nano), end_ticks = times.ticks_at(clock, end_nano);
  window.begin_ticks = begin_ticks - std::min(begin_ticks, kRoundingTicks);
  window.end_ticks = end_ticks + std::min(UINT64_MAX - end_ticks, kRoundingTicks);
  return window;
}

}  // namespace fathom::agent
