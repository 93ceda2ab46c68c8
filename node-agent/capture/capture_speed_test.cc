// How long a capture of 8 MiB of chunks takes, step by step. It asserts nothing about time, so it runs on request only:
// node-agent_tests --gtest_also_run_disabled_tests --gtest_filter='*CaptureSpeed*'.
#include <gtest/gtest.h>

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>

#include "base/sha256.h"
#include "capture/decode.h"
#include "node-agent/detail/detail_reader.h"
#include "node-agent/detail/tick_window.h"
#include "node-agent/sources/client_events.h"
#include "node-agent/testing/detail_events.h"
#include "node-agent/testing/scripted_host.h"

namespace fathom::agent {
namespace {

using testing::detail_record;
using testing::raw;
using testing::ScriptedDetail;
using testing::sized;

constexpr uint32_t kChunks = 128;
constexpr int kTimes = 15;

struct Contents {
  const char* name;
  std::string (*record)(uint64_t ticks, std::mt19937_64& random);
};

std::string small_record(uint64_t ticks, std::mt19937_64& random) {
  return detail_record(16, ticks, raw(static_cast<uint32_t>(random() % 1000)));
}
std::string miss_record(uint64_t ticks, std::mt19937_64& random) {
  return detail_record(17, ticks, sized("user:" + std::to_string(random() % 10'000)) + raw(random() % 4096));
}
std::string random_record(uint64_t ticks, std::mt19937_64& random) {
  return detail_record(16, ticks, raw(static_cast<uint32_t>(random())));
}

void fill(ScriptedDetail& pool, std::mt19937_64& random, const Contents& contents, uint64_t ticks) {
  pool.describe(16, "small", {{pool::FieldType::kUint32, "n"}});
  pool.describe(17, "cache.miss", {{pool::FieldType::kString, "key"}, {pool::FieldType::kUint64, "bytes"}});
  for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
    pool.claim(chunk, ticks, 100 + chunk % 4);
    pool.put(chunk, testing::owner_record(100 + chunk % 4, ticks));
    for (uint32_t i = 0;; ++i) {
      if (i % 50 == 0) pool.put(chunk, testing::spans_record(ticks, {static_cast<uint8_t>(random())}));
      if (!pool.put(chunk, contents.record(ticks += 100 + random() % 400, random))) break;
    }
    pool.seal(chunk, ticks);
  }
}

// Of this thread: other programs' work is not counted.
uint64_t cpu_nano() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

class Stopwatch {
 public:
  uint64_t lap() {
    uint64_t now = cpu_nano();
    return now - std::exchange(last_, now);
  }

 private:
  uint64_t last_ = cpu_nano();
};

class CaptureSpeed : public ::testing::TestWithParam<Contents> {};

enum Step { kSnapshot, kMake, kHash, kDecode, kSteps };

TEST_P(CaptureSpeed, DISABLED_EightMiB) {
  testing::ScriptedHost host;
  TickClock clock(host);
  std::mt19937_64 random(1);
  ScriptedDetail pool({.large = kChunks, .small = 1, .clock = pool::Clock::kTsc});
  const uint64_t began = host.monotonic();
  fill(pool, random, GetParam(), host.ticks());
  testing::run(host, clock, 2 * testing::kSecond);
  DetailReader reader(testing::open_detail(pool));
  std::array<std::vector<uint64_t>, kSteps> nano;
  size_t events = 0, content_bytes = 0, snapshot_bytes = 0;
  for (int i = 0; i < kTimes; ++i) {
    Stopwatch watch;
    const TickTimes times = clock.times();
    const uint64_t now = host.monotonic();
    DetailSnapshot snapshot = reader.snapshot(tick_window(times, pool::Clock::kTsc, began, now, now), 16 << 20);
    nano[kSnapshot].push_back(watch.lap());
    CaptureBuilder builder({.begin_nano = began, .end_nano = now}, times, {}, {}, snapshot.bytes());
    write_client_events(snapshot, builder);
    MadeCapture made = *builder.finish();
    nano[kMake].push_back(watch.lap());
    (void)sha256(made.content);
    nano[kHash].push_back(watch.lap());
    Result<capture::Capture> decoded = capture::decode(made.content);
    nano[kDecode].push_back(watch.lap());
    ASSERT_TRUE(decoded.ok());
    events = 0;
    for (const capture::Thread& thread : decoded->threads) events += thread.events.size();
    content_bytes = made.content.size();
    snapshot_bytes = snapshot.bytes();
  }
  std::printf("%s: %zu events in %.1f MiB, content %.2f MiB; median and least ms of CPU:", GetParam().name, events,
              static_cast<double>(snapshot_bytes) / (1 << 20), static_cast<double>(content_bytes) / (1 << 20));
  const char* names[] = {"snapshot", "make", "sha256", "decode"};
  for (size_t step = 0; step < kSteps; ++step) {
    std::ranges::sort(nano[step]);
    std::printf(" %s %.1f (%.1f)", names[step], static_cast<double>(nano[step][kTimes / 2]) / 1e6,
                static_cast<double>(nano[step][0]) / 1e6);
  }
  std::printf("\n");
}
INSTANTIATE_TEST_SUITE_P(Of, CaptureSpeed,
                         ::testing::Values(Contents{"small numbers", small_record},
                                           Contents{"key and size", miss_record},
                                           Contents{"random numbers", random_record}),
                         [](const auto& contents) {
                           std::string name = contents.param.name;
                           std::erase(name, ' ');
                           return name;
                         });

}  // namespace
}  // namespace fathom::agent
