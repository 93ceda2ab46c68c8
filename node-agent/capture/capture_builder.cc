#include "node-agent/capture/capture_builder.h"

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>

namespace fathom::agent {

namespace {

// Of a slice's bytes to those of a capture; hardly any have more.
constexpr size_t kLikelyRatio = 2;

capture::Capture capture_of(CaptureFacts facts, const TickTimes& times) {
  capture::Capture capture;
  capture.begin_nano = facts.begin_nano;
  capture.end_nano = std::max(facts.begin_nano, facts.end_nano);
  capture.events_complete_from_nano = capture.begin_nano;
  capture.trigger_nano = facts.trigger_nano;
  capture.pid = facts.pid;
  capture.service = std::move(facts.service);
  capture.reason = std::move(facts.reason);
  capture.ended = facts.ended;
  capture.anchors = times.anchors(capture.begin_nano, capture.end_nano);
  return capture;
}

}  // namespace

CaptureBuilder::CaptureBuilder(CaptureFacts facts, const TickTimes& times, ThreadTable::Identify identify,
                               const CaptureLimits& limits, uint64_t slice_bytes)
    : limits_(limits),
      redaction_(facts.redaction),
      times_(times),
      threads_(std::move(identify), limits.most_threads),
      encoder_(slice_bytes / kLikelyRatio),
      capture_(capture_of(std::move(facts), times)) {}

uint32_t CaptureBuilder::add_tracepoint(capture::Tracepoint tracepoint) {
  capture_.tracepoints.push_back(std::move(tracepoint));
  return static_cast<uint32_t>(capture_.tracepoints.size() - 1);
}

void CaptureBuilder::count_loss(std::string name, uint64_t many) {
  if (many != 0) capture_.losses.emplace_back(std::move(name), many);
}

void CaptureBuilder::write_open_spans(std::vector<OpenSpanOfThread> open, pool::Clock clock) {
  const size_t many = std::min(open.size(), limits_.most_open_spans);
  uint64_t without_thread = 0;
  for (OpenSpanOfThread& span : std::span(open).first(many)) {
    capture::Thread* thread = threads_.of_program(span.tid);
    if (thread == nullptr) {
      ++without_thread;
      continue;
    }
    const uint64_t start_nano = times_.monotonic_nano(clock, span.start_ticks);
    thread->open.push_back({span.span, start_nano, span.kind, std::move(span.name)});
  }
  count_loss("over_limit_open_spans", open.size() - many + without_thread);
}

Result<MadeCapture> CaptureBuilder::finish() {
  capture_.threads = threads_.take([this](uint32_t tid) { return encoder_.body().has_events(tid); });
  if (redaction_ && redaction_->has_value_rules()) redact_names();
  Result<std::string> content = encoder_.finish(capture_);
  if (!content) return content.error();
  return MadeCapture{*std::move(content), truncated_, times_.crosses_jump(capture_.begin_nano, capture_.end_nano),
                     std::move(capture_.losses), redaction_};
}

// Of all sources: names of threads, of spans, and of the threads and programs in the kernel's events, which are many.
void CaptureBuilder::redact_names() {
  std::unordered_map<std::string, std::string> known;
  const auto redact = [&](std::string& name) {
    if (name.empty()) return;
    const auto [at, is_new] = known.try_emplace(name);
    if (is_new) at->second = redaction_->text(name);
    name = at->second;
  };
  for (capture::Thread& thread : capture_.threads) {
    redact(thread.name);
    for (capture::OpenSpan& span : thread.open) redact(span.name);
    for (capture::KernelEvent& event : thread.kernel_events) redact(event.other_name);
  }
}

}  // namespace fathom::agent
