// A traced program that takes its time: span_holder [--for MILLISECONDS] [--end].
//
// Each of its spans, "hold", is open for so long (default: 2000), one after the other, and writes an event "tick" with
// its number about every millisecond. It prints a line with the number of the last tick that was written, now and then,
// so that whoever kills it knows what must be there. --end: one span, then it comes to its end.
#include <fathom/event.h>
#include <fathom/trace.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr uint64_t kTicksPerLine = 20;

void sleep_a_millisecond() {
  const timespec pause{0, 1'000'000};
  nanosleep(&pause, nullptr);
}

uint64_t now_milli() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

void hold(uint64_t milliseconds) {
  static uint64_t number = 0;
  fathom::Span span("hold");
  for (const uint64_t end = now_milli() + milliseconds; now_milli() < end; sleep_a_millisecond()) {
    number++;
    FATHOM_EVENT_ON("tick", "number", number);
    if (number % kTicksPerLine == 0) std::printf("%llu\n", static_cast<unsigned long long>(number));
  }
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t milliseconds = 2000;
  bool ends = false;
  for (int i = 1; i < argc; i++) {
    if (std::strcmp(argv[i], "--end") == 0) ends = true;
    if (std::strcmp(argv[i], "--for") == 0 && i + 1 < argc) milliseconds = std::strtoull(argv[++i], nullptr, 10);
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const int rounds = ends ? 1 : INT_MAX;
  for (int i = 0; i < rounds; i++) hold(milliseconds);
  return 0;
}
