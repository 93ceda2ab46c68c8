#include "bench/span_cost.h"

#include <fathom/trace.h>
#include <unistd.h>

#include <atomic>
#include <boost/json.hpp>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/time.h"
#include "bench/loops.h"
#include "bench/ticks.h"
#include "client/testing/pool_reader.h"

namespace fathom::bench {

namespace {

constexpr int kRounds = 300;
constexpr size_t kRecordBytes = 160;
constexpr size_t kRingBytes = 8 << 20;

void one_span(int number) {
  fathom_span span;
  fathom_span_start_here(&span, {"bench/op", 8}, FATHOM_INTERNAL);
  fathom_span_set_int(&span, {"items", 5}, number);
  fathom_span_set_string(&span, {"tenant", 6}, {"0123456789abcdef", 16});
  fathom_span_end(&span);
}

void two_ticks(int) {
  const uint64_t begin = ticks();
  // The compiler must believe that both are wanted.
  asm volatile("" ::"r"(begin), "r"(ticks()));
}

void copy_record(int) {
  thread_local std::vector<char> ring(kRingBytes);
  thread_local size_t at = 0;
  char record[kRecordBytes];
  asm volatile("" ::"r"(record) : "memory");
  std::memcpy(ring.data() + at, record, kRecordBytes);
  at = at + 2 * kRecordBytes > kRingBytes ? 0 : at + kRecordBytes;
}

// What two threads cost each other where they have nothing in common: a clock, arithmetic and a copy each.
void bare_work(int number) {
  two_ticks(number);
  auto value = static_cast<uint64_t>(number);
  for (int i = 0; i < 20; ++i) asm volatile("imul %1, %0\n\tadd $1, %0" : "+r"(value) : "r"(uint64_t{5}));
  copy_record(number);
}

using Body = void (*)(int);

void run_loops(Body body, std::vector<double>& times) {
  for (int loop = 0; loop < kLoopsOfARound; ++loop) times.push_back(time_loop(body));
}

// The thread on the other processor, which runs its loops whenever it is let.
class Partner {
 public:
  explicit Partner(Body body) : body_(body), thread_([this] { work(); }) {}
  ~Partner() {
    round_.store(-1);
    thread_.join();
  }
  void begin() { round_.fetch_add(1); }
  // Asleep, so that it can be alone on the machine.
  void await() const {
    while (done_.load() != round_.load()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  std::vector<double> take_times() { return std::exchange(times_, {}); }

 private:
  void work() {
    pin_this_thread(1);
    for (int seen = 0;;) {
      const int round = round_.load();
      if (round < 0) return;
      if (round == seen) {  // asleep as well, while the other one is measured alone
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        continue;
      }
      run_loops(body_, times_);
      done_.store(seen = round);
    }
  }
  const Body body_;
  std::vector<double> times_;
  std::atomic<int> round_{0}, done_{0};
  std::thread thread_;
};

void drain(client::testing::PoolReader& reader) {
  reader.take_count();
  reader.take_count();  // what was sealed by the first
}

double alone(Body body, client::testing::PoolReader& reader, int rounds) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) run_loops(body, times), drain(reader);
  return median(times);
}

double alone(Partner& partner, client::testing::PoolReader& reader, int rounds) {
  for (int round = 0; round < rounds; ++round) partner.begin(), partner.await(), drain(reader);
  std::vector<double> times = partner.take_times();
  return median(times);
}

struct Both {
  double mine;
  double partners;
};

Both together(Body body, Partner& partner, client::testing::PoolReader& reader, int rounds) {
  std::vector<double> mine;
  for (int round = 0; round < rounds; ++round) {
    partner.begin();
    run_loops(body, mine);
    partner.await();
    drain(reader);
  }
  std::vector<double> partners = partner.take_times();
  return {median(mine), median(partners)};
}

struct OneAndTwo {
  double one = 0;
  double two_over_one = 0;  // 0: there is one processor only
};

// Each thread beside the other over the same thread alone, on its processor: one may have a busier neighbour than the
// other. Turns of some milliseconds, so that what the machine does meanwhile falls on all.
OneAndTwo measure_body(Body body, client::testing::PoolReader& reader, int rounds) {
  constexpr int kTurns = 25;
  const int rounds_of_turn = rounds / kTurns;
  std::vector<double> one, ratios;
  std::optional<Partner> partner;
  if (std::thread::hardware_concurrency() > 1) partner.emplace(body);
  for (int turn = 0; turn < kTurns; ++turn) {
    one.push_back(alone(body, reader, rounds_of_turn));
    if (!partner) continue;
    const double partners = alone(*partner, reader, rounds_of_turn);
    const Both both = together(body, *partner, reader, rounds_of_turn);
    ratios.push_back((both.mine + both.partners) / (one.back() + partners));
  }
  return {median(one), partner ? median(ratios) : 0};
}

}  // namespace

SpanCost measure_span_cost(int rounds) {
  pin_this_thread(0);
  one_span(0);
  auto reader = client::testing::PoolReader::of_this_process();
  const OneAndTwo span = measure_body(one_span, reader, rounds);
  const OneAndTwo bare = measure_body(bare_work, reader, rounds);
  const double ticks_ns = alone(two_ticks, reader, rounds / 25);
  return {span.one,           span.two_over_one, bare.two_over_one, ticks_ns, alone(copy_record, reader, rounds / 25),
          fathom_lost_spans()};
}

int run_span_cost(int ready_fd) {
  const SpanCost cost = measure_span_cost(kRounds);
  boost::json::object line{{"start_end_2attr_ns", cost.start_end_2attr_ns},
                           {"two_threads_over_one", cost.two_threads_over_one},
                           {"bare_two_threads_over_one", cost.bare_two_threads_over_one},
                           {"two_ticks_ns", cost.two_ticks_ns},
                           {"copy_ns", cost.copy_ns},
                           {"lost", cost.lost}};
  const std::string text = boost::json::serialize(line) + "\n";
  return ::write(ready_fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1;
}

}  // namespace fathom::bench
