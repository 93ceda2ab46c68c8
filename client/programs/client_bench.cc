// What a span costs: client_bench [THREADS]. Prints nanoseconds per span, the median of many loops; chunks are freed
// between the loops, not within.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "client/testing/pool_reader.h"
#include "fathom/trace.h"

namespace {

constexpr int kLoops = 400;
constexpr int kSpans = 2000;

double now_nano() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void one_span(int i) {
  fathom_span span;
  fathom_span_start_here(&span, {"bench/op", 8}, FATHOM_INTERNAL);
  fathom_span_set_int(&span, {"items", 5}, i);
  fathom_span_set_string(&span, {"tenant", 6}, {"0123456789abcdef", 16});
  fathom_span_end(&span);
}
void scoped_span(int i) {
  fathom::Span span("bench/op");
  span.set("items", i).set("tenant", "0123456789abcdef");
}
void child_span(int i) {
  static thread_local fathom::Span outer("outer");
  scoped_span(i);
}
void bare_ticks(int) {
  __builtin_ia32_rdtsc();
  __builtin_ia32_rdtsc();
}

double median_nano(void (*body)(int), int loops, int spans) {
  std::vector<double> times;
  for (int loop = 0; loop < loops; loop++) {
    const double begin = now_nano();
    for (int i = 0; i < spans; i++) body(i);
    times.push_back((now_nano() - begin) / spans);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void measure(const char* name, void (*body)(int), int threads) {
  auto reader = fathom::client::testing::PoolReader::of_this_process();
  std::vector<double> medians;
  for (int loop = 0; loop < kLoops; loop++) {
    std::vector<double> results(threads);
    std::vector<std::thread> others;
    for (int t = 1; t < threads; t++) others.emplace_back([&, t] { results[t] = median_nano(body, 10, kSpans); });
    results[0] = median_nano(body, 10, kSpans);
    for (auto& other : others) other.join();
    medians.push_back(*std::max_element(results.begin(), results.end()));
    reader.take_count();
    reader.take_count();
  }
  std::sort(medians.begin(), medians.end());
  std::printf("%-12s %d threads: %6.1f ns (best %.1f, 90%% %.1f), lost %llu\n", name, threads, medians[kLoops / 2],
              medians[0], medians[kLoops * 9 / 10], static_cast<unsigned long long>(fathom_lost_spans()));
}

}  // namespace

int main() {
  measure("two ticks", bare_ticks, 1);
  measure("flat", one_span, 1);
  measure("flat", one_span, 2);
  measure("scoped", scoped_span, 1);
  measure("child", child_span, 1);
  measure("child", child_span, 2);
}
