#include "query/testing/sample_timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "base/time.h"
#include "capture/encode.h"

namespace fathom::query::testing {

namespace {

using capture::KernelEvent;
using capture::KernelEventKind;
using capture::SwitchReason;
using capture::Value;

constexpr uint64_t kMonotonicStart = 1'000 * kNanosPerSecond;
constexpr int32_t kFutex = 202;  // of x86-64, as the names in the golden files
constexpr int32_t kRead = 0;

uint64_t at(uint64_t micro) {
  return sample_monotonic(micro);
}

// 4712 and 4719 are threads of the sample's process.
int32_t pid_of(int32_t tid) {
  return tid == 4712 || tid == 4719 ? 4711 : tid;
}

KernelEvent change(KernelEventKind kind, uint64_t micro, uint16_t cpu, int32_t tid, const std::string& name,
                   SwitchReason reason = SwitchReason::kPreempted) {
  return {.kind = kind,
          .reason = reason,
          .cpu = cpu,
          .monotonic_nano = at(micro),
          .other_pid = pid_of(tid),
          .other_tid = tid,
          .other_name = name};
}

KernelEvent call(int32_t number, uint64_t begin_micro, uint64_t end_micro, int64_t result, uint64_t first) {
  return {.kind = KernelEventKind::kSyscall,
          .cpu = 1,
          .monotonic_nano = at(begin_micro),
          .end_nano = at(end_micro),
          .syscall = number,
          .result = result,
          .arguments = {first, 128}};
}

capture::Thread worker() {
  capture::Thread thread{.tid = 4712, .name = "worker-2"};
  Value loaded[] = {Value::of_integer(3), thread.add_text("ann"), Value::of_real(0.5)};
  thread.add_event({.monotonic_nano = at(1'000), .tracepoint = 0, .spans = 1}, loaded);
  Value wanted[] = {thread.add_text("stock"), Value::of_truth(true)};
  thread.add_event({.monotonic_nano = at(10'000), .tracepoint = 1, .spans = 2}, wanted);
  thread.add_event({.monotonic_nano = at(900'000), .tracepoint = 1, .spans = 0}, wanted);
  KernelEvent fault{.kind = KernelEventKind::kUserFault, .cpu = 0, .monotonic_nano = at(795'000)};
  fault.address = 0x7f00'0000'1000;
  fault.instruction = 0x55'0000'1234;
  fault.fault = 2;
  thread.kernel_events = {change(KernelEventKind::kSwitchedIn, 0, 1, 0, ""),
                          change(KernelEventKind::kSwitchedOut, 10'200, 1, 4719, "", SwitchReason::kSleeps),
                          change(KernelEventKind::kWoken, 790'000, 0, 4719, "flush-7"),
                          change(KernelEventKind::kSwitchedIn, 790'050, 0, 4719, "flush-7"),
                          call(kFutex, 10'100, 790'100, 0, 0x7f00'dead'beef),
                          fault,
                          change(KernelEventKind::kSwitchedOut, 795'010, 0, 0, "", SwitchReason::kUninterruptible),
                          change(KernelEventKind::kSwitchedIn, 800'000, 0, 99, "kworker/0:1"),
                          call(kRead, 805'000, 805'020, -11, 7)};
  std::ranges::stable_sort(thread.kernel_events, {}, &KernelEvent::monotonic_nano);
  return thread;
}

capture::Thread flusher() {
  capture::Thread thread{.tid = 4719, .name = "flush-7"};
  Value wanted[] = {thread.add_text("other"), Value::of_truth(false)};
  thread.add_event({.monotonic_nano = at(400'000), .tracepoint = 1, .spans = 3}, wanted);
  thread.kernel_events = {
      change(KernelEventKind::kSwitchedIn, 10'200, 1, 4712, ""),
      change(KernelEventKind::kSwitchedOut, 790'050, 0, 4712, "worker-2", SwitchReason::kPreempted)};
  return thread;
}

store::SpanView sample_span_of(uint64_t n, uint64_t parent, uint64_t start_micro, uint64_t end_micro,
                               std::string_view name) {
  store::SpanView span{.trace_id = sample_trace_id(1), .span_id = sample_span_id(n), .name = name};
  if (parent != 0) span.parent_span_id = sample_span_id(parent);
  span.start_unix_nano = kSampleStart + start_micro * 1000;
  span.end_unix_nano = kSampleStart + end_micro * 1000;
  span.kind = parent == 0 ? store::SpanKind::kServer : store::SpanKind::kInternal;
  return span;
}

}  // namespace

store::CaptureId sample_capture_id(uint64_t n) {
  store::CaptureId id;
  id.bytes[0] = 0xca;
  id.bytes[15] = static_cast<uint8_t>(n);
  return id;
}

uint64_t sample_monotonic(uint64_t after_start_micro) {
  return kMonotonicStart + after_start_micro * 1000;
}

store::CaptureInfo sample_capture_info(uint64_t n) {
  store::CaptureInfo info{.id = sample_capture_id(n), .trace_id = sample_trace_id(1)};
  info.node_id.bytes[0] = 0x0d;
  info.node_name = "shop-1";
  info.service = "checkout";
  info.pid = 4711;
  info.trigger = CaptureTrigger::kSlow;
  info.operation = "POST /checkout";
  info.span_id = sample_span_id(1);
  info.start_unix_nano = kSampleStart - 188 * kMilli;
  info.end_unix_nano = kSampleStart + 1'000 * kMilli;
  info.clock = ClockOffset{2'000, 500};
  info.losses = {{"overwritten", 12}};
  return info;
}

capture::Capture sample_capture() {
  capture::Capture content;
  content.begin_nano = kMonotonicStart - 188 * kMilli;
  content.end_nano = at(1'000'000);
  content.events_complete_from_nano = kMonotonicStart - 100 * kMilli;
  content.kernel_complete_from_nano = kMonotonicStart;
  content.trigger_nano = at(812'000);
  content.pid = 4711;
  content.service = "checkout";
  content.reason = "POST /checkout took 812 ms, its threshold is 250 ms";
  content.anchors = {{kMonotonicStart - kNanosPerSecond, kSampleStart - kNanosPerSecond - 2'000, 1},
                     {at(1'000'000), kSampleStart + kNanosPerSecond - 2'000, 1}};
  content.tracepoints = {
      {"cart.loaded",
       "cart.cc",
       42,
       {{"items", capture::FieldType::kInteger},
        {"user", capture::FieldType::kText},
        {"share", capture::FieldType::kReal}}},
      {"lock.wanted", "lock.cc", 7, {{"name", capture::FieldType::kText}, {"exclusive", capture::FieldType::kTruth}}}};
  content.span_sets = {{},
                       {{sample_trace_id(1), sample_span_id(1)}},
                       {{sample_trace_id(1), sample_span_id(2)}},
                       {{sample_trace_id(9), sample_span_id(90)}}};
  content.threads = {worker(), flusher()};
  content.losses = {{"torn", 1}};
  return content;
}

SampleTimeline::SampleTimeline() {
  store::RocksOptions options;
  options.path = directory_ / "data";
  options.reserve_disk_bytes = 0;
  auto opened = store::RocksStore::open(options);
  if (!opened) ADD_FAILURE() << opened.error().message;
  store_ = *std::move(opened);
  add_span(sample_span_of(1, 0, 0, 812'000, "POST /checkout"), "checkout", 4711);
  add_span(sample_span_of(2, 1, 9'000, 791'000, "reserve"), "checkout", 4711);
  add_span(sample_span_of(3, 1, 801'000, 811'000, "GET /stock"), "stock", 500);
  add_capture(sample_capture_info(1), capture::encode(sample_capture()));
  add_capture(sample_capture_info(2), "not a capture");
}

void SampleTimeline::add_span(const store::SpanView& span, const std::string& service, int64_t pid,
                              const std::vector<store::AttributeView>& more) {
  std::vector<store::AttributeView> resource = {{"service.name", store::ValueView::of_string(service)},
                                                {"process.pid", store::ValueView::of_int(pid)}};
  resource.insert(resource.end(), more.begin(), more.end());
  store::BatchBuilder builder({}, ClockOffset{2'000, 500});
  builder.set_resource({.attributes = resource});
  store::SpanView sent = span;
  sent.start_unix_nano -= 2'000;
  sent.end_unix_nano -= 2'000;
  builder.add(sent);
  std::promise<store::AppendResult> done;
  store_->append(builder.finish(), [&](store::AppendResult result) { done.set_value(std::move(result)); });
  store::AppendResult result = done.get_future().get();
  EXPECT_EQ(result.outcome, store::AppendOutcome::kDurable) << result.message;
}

void SampleTimeline::add_capture(const store::CaptureInfo& info, const std::string& content) {
  auto writer = store_->captures().begin(info);
  if (!writer) return (void)(ADD_FAILURE() << writer.error().message);
  auto taken = (*writer)->append(0, content);
  EXPECT_TRUE(taken.ok());
  store::AppendResult result = (*writer)->finish();
  EXPECT_EQ(result.outcome, store::AppendOutcome::kDurable) << result.message;
}

}  // namespace fathom::query::testing
