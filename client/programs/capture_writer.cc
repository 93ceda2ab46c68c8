// A traced program that gives reasons for captures, one for each line that it is told: capture_writer.
//
//   burst BYTES [PARENT]    a span (of this traceparent) in which so many bytes of events are written, then
//                           fathom::trigger(), then the span stays open until the next line
//   bursts BYTES            short spans, one after the other, in which so many bytes of events are written in all; the
//                           last one calls fathom::trigger() and ends
//   hold NAME MILLISECONDS [PARENT]
//                           a span of this name, open for so long, with an event every 100 us
//   quiet                   a span without events: another thread starts a child of it, and ends a span that this
//                           thread started; then fathom::trigger(), and the end of the span
//   children COUNT STATUS   a span in which so many children are forked, one after the other; each ends a span, waits
//                           until the agent has it, begins another span, and calls _exit(STATUS)
//   end
//
// To each it answers a line "TRACE_ID START TRIGGER", the times in nanoseconds of CLOCK_MONOTONIC: when its span began,
// and when it asked (of `hold`: 0); of `quiet` the ids of this thread and of the other one follow. The answer to
// `burst` comes once it has asked, the others when the (last) span has ended.
#include <fathom/event.h>
#include <fathom/trace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kEventBytes = 32;  // of a record of "bench.event"

uint64_t monotonic_nano() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecond + static_cast<uint64_t>(now.tv_nsec);
}

void sleep_nano(uint64_t nano) {
  const timespec pause = {static_cast<time_t>(nano / kSecond), static_cast<long>(nano % kSecond)};
  nanosleep(&pause, nullptr);
}

void write_event(uint64_t number) {
  FATHOM_EVENT_ON("bench.event", "number", number, "check", number * 0x9e3779b97f4a7c15);
}

std::string trace_id(const fathom::Span& span) {
  return span.context().traceparent().substr(3, 32);
}

void answer(const std::string& trace, uint64_t start_nano, uint64_t trigger_nano) {
  std::printf("%s %" PRIu64 " %" PRIu64 "\n", trace.c_str(), start_nano, trigger_nano);
  std::fflush(stdout);
}

// Until the next line comes, which is returned.
std::string next_line() {
  char line[256];
  if (std::fgets(line, sizeof line, stdin) == nullptr) return "end";
  line[std::strcspn(line, "\n")] = '\0';
  return line;
}

std::string burst(uint64_t bytes, const char* parent) {
  fathom::Span span("bench.burst", fathom::Context::extract(parent));
  const uint64_t start_nano = monotonic_nano();
  for (uint64_t number = 0; number < bytes / kEventBytes; ++number) write_event(number);
  const uint64_t trigger_nano = monotonic_nano();
  fathom::trigger("bench");
  answer(trace_id(span), start_nano, trigger_nano);
  return next_line();
}

void write_events(uint64_t from, uint64_t to) {
  for (uint64_t number = from; number < to; ++number) write_event(number);
}

// No span is so long that it would be captured for its own sake.
void bursts(uint64_t bytes) {
  constexpr uint64_t kSpans = 8;
  const uint64_t events = bytes / kEventBytes;
  for (uint64_t i = 0; i + 1 < kSpans; ++i) {
    fathom::Span span("bench.burst");
    write_events(events * i / kSpans, events * (i + 1) / kSpans);
  }
  fathom::Span span("bench.burst");
  const uint64_t start_nano = monotonic_nano();
  write_events(events * (kSpans - 1) / kSpans, events);
  const uint64_t trigger_nano = monotonic_nano();
  fathom::trigger("bench");
  const std::string trace = trace_id(span);
  span.end();
  answer(trace, start_nano, trigger_nano);
}

void hold(const char* name, uint64_t milliseconds, const char* parent) {
  fathom::Span span(name, fathom::Context::extract(parent));
  const uint64_t start_nano = monotonic_nano();
  for (uint64_t number = 0; monotonic_nano() < start_nano + milliseconds * 1'000'000; ++number) {
    write_event(number);
    sleep_nano(100'000);
  }
  const std::string trace = trace_id(span);
  span.end();
  answer(trace, start_nano, 0);
}

void quiet() {
  fathom::Span span("quiet.whole");
  const uint64_t start_nano = monotonic_nano();
  fathom::DetachedSpan handed("quiet.handed");
  pid_t other_tid = 0;
  std::thread([&handed, &other_tid, parent = span.context()] {
    const fathom::Span part("quiet.part", parent);
    other_tid = gettid();
    handed.end();
  }).join();
  const uint64_t trigger_nano = monotonic_nano();
  fathom::trigger("bench");
  const std::string trace = trace_id(span);
  span.end();
  std::printf("%s %" PRIu64 " %" PRIu64 " %d %d\n", trace.c_str(), start_nano, trigger_nano, gettid(), other_tid);
  std::fflush(stdout);
}

[[noreturn]] void be_child(int status) {
  { const fathom::Span span("child.work"); }
  fathom::flush(10 * kSecond);
  const fathom::Span open("child.open");
  _exit(status);
}

void children(int count, int status) {
  const fathom::Span span("children.whole");
  const uint64_t start_nano = monotonic_nano();
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) be_child(status);
    waitpid(child, nullptr, 0);
  }
  answer(trace_id(span), start_nano, 0);
}

// The line that follows.
std::string obey(const std::string& line) {
  uint64_t number = 0;
  char name[128], parent[128] = "";
  if (std::sscanf(line.c_str(), "burst %" SCNu64 " %127s", &number, parent) >= 1) return burst(number, parent);
  if (std::sscanf(line.c_str(), "bursts %" SCNu64, &number) == 1) {
    bursts(number);
    return next_line();
  }
  if (std::sscanf(line.c_str(), "hold %127s %" SCNu64 " %127s", name, &number, parent) >= 2) {
    hold(name, number, parent);
    return next_line();
  }
  int count = 0, status = 0;
  if (std::sscanf(line.c_str(), "children %d %d", &count, &status) == 2) {
    children(count, status);
    return next_line();
  }
  if (line == "quiet") {
    quiet();
    return next_line();
  }
  std::fprintf(stderr, "capture_writer: no such line: %s\n", line.c_str());
  return "end";
}

}  // namespace

int main() {
  std::string line = next_line();
  while (line != "end") line = obey(line);
}
