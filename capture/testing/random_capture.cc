#include "capture/testing/random_capture.h"

#include <algorithm>
#include <random>

namespace fathom::capture::testing {

namespace {

// Distributions differ between standard libraries; the engine does not.
class Source {
 public:
  explicit Source(uint64_t seed) : engine_(seed) {}
  uint64_t word() { return engine_(); }
  uint64_t below(uint64_t bound) { return engine_() % bound; }
  bool chance(uint64_t one_in) { return below(one_in) == 0; }
  // Of any magnitude.
  uint64_t wild() { return engine_() >> below(64); }

 private:
  std::mt19937_64 engine_;
};

class RandomCapture {
 public:
  RandomCapture(uint64_t seed, uint32_t size) : source_(seed), size_(size) {}
  Capture make();

 private:
  std::string text();
  SpanRef span();
  void head();
  void tables();
  Field field();
  Thread thread(uint32_t tid);
  void add_event(Thread& thread, uint64_t nano);
  Value value(Thread& thread, FieldType type);
  KernelEvent kernel_event(uint64_t nano);

  Source source_;
  uint32_t size_;
  Capture capture_;
};

std::string RandomCapture::text() {
  std::string text(source_.below(source_.chance(8) ? 200 : 12), '\0');
  for (char& c : text) c = static_cast<char>(source_.chance(2) ? 'a' + source_.below(4) : source_.below(256));
  return text;
}

SpanRef RandomCapture::span() {
  SpanRef ref;
  ref.trace_id.bytes.fill(static_cast<uint8_t>(source_.below(5)));
  for (uint8_t& byte : ref.span_id.bytes) byte = static_cast<uint8_t>(source_.word());
  return ref;
}

void RandomCapture::head() {
  capture_.begin_nano = source_.wild();
  capture_.end_nano = source_.wild();
  capture_.events_complete_from_nano = source_.wild();
  capture_.kernel_complete_from_nano = source_.chance(2) ? 0 : source_.wild();
  capture_.kernel_missing = source_.chance(2) ? "" : text();
  capture_.trigger_nano = source_.wild();
  capture_.pid = static_cast<uint32_t>(source_.wild());
  capture_.service = text();
  capture_.reason = text();
  capture_.ended = source_.chance(2);
}

Field RandomCapture::field() {
  return {text(), static_cast<FieldType>(1 + source_.below(6))};
}

void RandomCapture::tables() {
  Anchor anchor;
  for (uint64_t i = source_.below(5); i > 0; --i) {
    anchor.monotonic_nano += source_.below(UINT64_MAX / 8);
    anchor.unix_nano = source_.wild();
    anchor.epoch += static_cast<uint32_t>(source_.below(2));
    capture_.anchors.push_back(anchor);
  }
  for (uint64_t i = source_.below(8); i > 0; --i) {
    Tracepoint tracepoint{text(), text(), static_cast<uint32_t>(source_.wild()), {}};
    for (uint64_t k = source_.below(9); k > 0; --k) tracepoint.fields.push_back(field());
    capture_.tracepoints.push_back(tracepoint);
  }
  for (uint64_t i = source_.below(6); i > 0; --i) {
    capture_.span_sets.emplace_back();
    for (uint64_t k = source_.below(4); k > 0; --k) capture_.span_sets.back().push_back(span());
  }
  for (uint64_t i = source_.below(4); i > 0; --i) capture_.losses.emplace_back(text(), source_.wild());
}

Value RandomCapture::value(Thread& thread, FieldType type) {
  switch (type) {
    case FieldType::kInteger:
      return Value::of_integer(static_cast<int64_t>(source_.wild()) * (source_.chance(2) ? 1 : -1));
    case FieldType::kNatural:
      return Value::of_natural(source_.wild());
    case FieldType::kReal:
      return Value::of_natural(source_.word());  // any bits, also those of no number
    case FieldType::kTruth:
      return Value::of_truth(source_.chance(2));
    case FieldType::kText:
    case FieldType::kBytes:
      break;
  }
  return thread.add_text(text(), source_.chance(9));
}

void RandomCapture::add_event(Thread& thread, uint64_t nano) {
  Event event{.monotonic_nano = nano,
              .tracepoint = static_cast<uint32_t>(source_.below(capture_.tracepoints.size())),
              .spans = static_cast<uint32_t>(source_.below(capture_.span_sets.size())),
              .spans_certain = !source_.chance(7)};
  std::vector<Value> values;
  for (const Field& field : capture_.tracepoints[event.tracepoint].fields) {
    if (source_.chance(40)) break;
    values.push_back(value(thread, field.type));
  }
  thread.add_event(event, values);
}

KernelEvent RandomCapture::kernel_event(uint64_t nano) {
  KernelEvent event{.kind = static_cast<KernelEventKind>(1 + source_.below(12)),
                    .reason = static_cast<SwitchReason>(source_.below(5)),
                    .cpu = static_cast<uint16_t>(source_.wild()),
                    .monotonic_nano = nano};
  if (source_.chance(2)) event.other_pid = static_cast<int32_t>(source_.wild());
  if (source_.chance(2)) event.other_tid = static_cast<int32_t>(source_.wild());
  if (source_.chance(2)) event.other_name = text();
  if (source_.chance(2)) event.end_nano = source_.wild();
  if (source_.chance(2)) event.syscall = static_cast<int32_t>(source_.wild());
  if (source_.chance(2)) event.arguments = {source_.wild(), source_.wild()};
  if (source_.chance(2)) event.result = static_cast<int64_t>(source_.word());
  if (source_.chance(2)) event.address = source_.wild();
  if (source_.chance(2)) event.instruction = source_.wild();
  if (source_.chance(2)) event.fault = static_cast<uint32_t>(source_.wild());
  return event;
}

Thread RandomCapture::thread(uint32_t tid) {
  Thread thread{.tid = tid, .name = text()};
  for (uint64_t i = source_.below(4); i > 0; --i) {
    thread.open.push_back({span(), source_.wild(), static_cast<uint8_t>(source_.below(6)), text()});
  }
  uint64_t nano = source_.wild() / 2;
  uint64_t events = capture_.tracepoints.empty() ? 0 : source_.below(size_ + 1);
  for (uint64_t i = 0; i < events; ++i) add_event(thread, nano += source_.below(1000));
  nano = source_.chance(3) ? 0 : source_.wild() / 2;
  for (uint64_t i = source_.below(size_ + 1); i > 0; --i) {
    thread.kernel_events.push_back(kernel_event(nano += source_.below(1000)));
  }
  return thread;
}

Capture RandomCapture::make() {
  head();
  tables();
  uint32_t tid = 0;
  for (uint64_t i = source_.below(4); i > 0; --i) {
    capture_.threads.push_back(thread(tid += 1 + static_cast<uint32_t>(source_.below(100))));
  }
  return std::move(capture_);
}

SpanRef numbered_span(uint8_t number) {
  SpanRef ref;
  ref.trace_id.bytes.fill(number);
  ref.span_id.bytes.fill(number);
  return ref;
}

Thread sample_thread() {
  Thread thread{.tid = 4243, .name = "worker", .open = {{numbered_span(1), 999'000'000, 2, "POST /checkout"}}};
  std::vector<Value> values{thread.add_text("user:7"), Value::of_natural(512)};
  thread.add_event({.monotonic_nano = 1'000'000'010, .tracepoint = 0, .spans = 1}, values);
  values = {Value::of_integer(-7), Value::of_real(2.5), Value::of_truth(true), thread.add_text("\x01\xff", true)};
  thread.add_event({.monotonic_nano = 1'000'000'500, .tracepoint = 1, .spans = 2, .spans_certain = false}, values);
  values.resize(1, Value::of_integer(0));
  thread.add_event({.monotonic_nano = 1'000'000'500, .tracepoint = 1}, values);
  thread.add_event({.monotonic_nano = 1'000'000'700, .tracepoint = 2}, {});
  thread.kernel_events = {
      {.kind = KernelEventKind::kSyscall, .cpu = 1, .monotonic_nano = 0, .end_nano = 1'000'000'020, .result = -11},
      {.kind = KernelEventKind::kSwitchedOut,
       .reason = SwitchReason::kSleeps,
       .cpu = 1,
       .monotonic_nano = 1'000'000'100,
       .other_pid = 77,
       .other_tid = 78,
       .other_name = "postgres"},
      {.kind = KernelEventKind::kUserFault,
       .monotonic_nano = 1'000'000'300,
       .address = 0x7f0000001000,
       .instruction = 0x55d000000123,
       .fault = 2},
      {.kind = KernelEventKind::kSyscallUnderWay,
       .monotonic_nano = 1'000'000'400,
       .end_nano = 1'000'000'900,
       .syscall = 202,
       .arguments = {0x7f0000002000, 128}}};
  return thread;
}

}  // namespace

Capture random_capture(uint64_t seed, uint32_t size) {
  return RandomCapture(seed, size).make();
}

Capture sample_capture() {
  Capture capture{.begin_nano = 1'000'000'000,
                  .end_nano = 1'000'001'000,
                  .events_complete_from_nano = 999'999'000,
                  .kernel_complete_from_nano = 1'000'000'000,
                  .trigger_nano = 1'000'000'950,
                  .pid = 4242,
                  .service = "checkout",
                  .reason = "POST /checkout took 812 ms, its threshold is 250 ms"};
  capture.anchors = {{900'000'000, 1'800'000'000'900'000'000, 0}, {1'900'000'000, 1'800'000'001'900'000'000, 1}};
  capture.tracepoints = {
      {"cache.miss", "cache.cc", 41, {{"key", FieldType::kText}, {"bytes", FieldType::kNatural}}},
      {"all",
       "all.c",
       7,
       {{"i", FieldType::kInteger}, {"r", FieldType::kReal}, {"t", FieldType::kTruth}, {"b", FieldType::kBytes}}},
      {"nothing", "all.c", 9, {}}};
  capture.span_sets.push_back({numbered_span(1)});
  capture.span_sets.push_back({numbered_span(1), numbered_span(2)});
  capture.threads = {{.tid = 4242, .name = "main"}, sample_thread()};
  capture.losses = {{"overwritten_chunks", 3}};
  return capture;
}

}  // namespace fathom::capture::testing
