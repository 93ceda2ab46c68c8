// The detail pool from end to end: the real client writes and is killed, the agent's reader reads.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "base/testing/repetitions.h"
#include "base/time.h"
#include "node-agent/detail/event_decoder.h"
#include "tests/testing/event_crash.h"

namespace fathom {
namespace {

using testing::EventCrashPlan;
using testing::EventProgram;
using testing::EventVerdict;

const std::string kWriter = FATHOM_PROGRAMS "/event_writer";
const std::string kGolden = FATHOM_TESTDATA "/detail-v1";

TEST(DetailCrash, EveryCommittedEventIsReadBack) {
  uint64_t seed = std::random_device()();
  EventVerdict sum;
  for (uint32_t kill = 0; kill < repetitions(20); ++kill) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", kill " + std::to_string(kill));
    Result<EventVerdict> verdict = testing::crash_event_writer(testing::varied_plan(kWriter, seed, kill));
    ASSERT_TRUE(verdict.ok()) << verdict.error().message;
    EXPECT_TRUE(verdict->good()) << verdict->text();
    sum += *verdict;
  }
  std::cout << sum.text() << "\n";
  EXPECT_GT(sum.found, 1000u);
}

// How long it takes is said, and asserted by the benchmarks only.
TEST(DetailSnapshot, OfEightMebibytes) {
  constexpr uint64_t kBudget = 8 << 20;
  Result<EventProgram> program = EventProgram::start({.program = kWriter, .pool_mib = 32}, {"--threads", "2"});
  ASSERT_TRUE(program.ok()) << program.error().message;
  Result<agent::DetailFile> pool = program->open_pool();
  ASSERT_TRUE(pool.ok()) << pool.error().message;
  agent::DetailReader reader(*std::move(pool));
  auto snapshots = [&](const char* when) {
    std::vector<uint64_t> took;
    for (int i = 0; i < 21; ++i) {
      uint64_t begin = now_monotonic_nano();
      agent::DetailSnapshot snapshot = reader.snapshot({}, kBudget);
      took.push_back(now_monotonic_nano() - begin);
      EXPECT_LE(snapshot.bytes(), kBudget);
      EXPECT_GT(snapshot.bytes(), kBudget / 2);
    }
    std::sort(took.begin(), took.end());
    std::cout << when << ": " << took[10] / 1000 << " us, at most " << took[20] / 1000 << " us\n";
  };
  const std::atomic<uint64_t>& written = program->page().slots[0].finished;
  uint64_t end = now_monotonic_nano() + 60 * kNanosPerSecond;
  while (written.load() < 1'000'000 && now_monotonic_nano() < end) ::usleep(1000);
  snapshots("while two threads write");
  program->kill();
  snapshots("of a dead program");
}

// All but the ticks, which are never the same.
std::string dump(const agent::DetailSnapshot& snapshot) {
  std::multimap<uint64_t, std::string> lines;
  agent::decode(snapshot, [&](const agent::EventView& event) {
    std::string line = to_text(event) + " spans=" + std::to_string(event.spans.size());
    for (const pool::SpanRef& span : event.spans) line += " trace " + std::to_string(span.trace_id[0]);
    lines.emplace(event.ticks, line);
  });
  std::string out;
  for (const auto& [ticks, line] : lines) out += line + "\n";
  return out;
}

std::string file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// The file's size, then each page that has anything in it: its offset, its bytes.
void write_golden(const agent::DetailFile& pool) {
  std::ofstream out(kGolden + ".bin", std::ios::binary);
  uint64_t bytes = pool.memory().bytes();
  out.write(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  const std::string none(pool::kPageBytes, '\0');
  std::string page = none;
  for (uint64_t at = 0; at < bytes; at += page.size()) {
    if (pool.memory().read(at, page.data(), page.size()) != page.size() || page == none) continue;
    out.write(reinterpret_cast<const char*>(&at), sizeof at);
    out << page;
  }
}

// FATHOM_WRITE_GOLDEN=1 keeps what today's client writes, for a version that is new.
TEST(DetailGolden, TodaysClientWritesWhatTheGoldenPoolHas) {
  Result<EventProgram> program = EventProgram::start({.program = kWriter}, {"--fixed"});
  ASSERT_TRUE(program.ok()) << program.error().message;
  Result<agent::DetailFile> pool = program->open_pool();
  ASSERT_TRUE(pool.ok()) << pool.error().message;
  program->kill();
  bool write = std::getenv("FATHOM_WRITE_GOLDEN") != nullptr;
  if (write) write_golden(*pool);
  std::string today = dump(agent::DetailReader(*std::move(pool)).snapshot({}, 1 << 20));
  if (write) std::ofstream(kGolden + ".txt") << today;
  EXPECT_EQ(today, file(kGolden + ".txt"));
}

}  // namespace
}  // namespace fathom
