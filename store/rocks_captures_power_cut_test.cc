// Power cuts and kill -9 while captures are uploaded: what was answered with kDurable is there, whole; what was not is
// there whole or not at all; and no file is left that nobody refers to.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>
#include <thread>

#include "base/fd.h"
#include "store/testing/capture_builder.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

constexpr uint64_t kCaptureSenders = 3;

std::string content_of(uint64_t number) {
  return test_content(number, 1 + number * 7919 % 20'000);
}

// What is stored is what was sent, and everything that was acknowledged is stored; how many were lost.
uint64_t check_stored(CaptureStore& store, const std::set<uint64_t>& sent, const std::set<uint64_t>& acknowledged) {
  uint64_t lost = 0, stored = 0;
  for (uint64_t number : sent) {
    Result<StoredCapture> found = store.info(test_capture_id(number));
    lost += !found.ok() && acknowledged.contains(number);
    if (!found.ok()) continue;
    ++stored;
    lost += found->damaged && acknowledged.contains(number);
    if (!found->damaged) {
      EXPECT_EQ(read_all(store, test_capture_id(number)), content_of(number)) << number;
    }
  }
  EXPECT_EQ(store.stats().captures, stored);
  return lost;
}

// File names below captures/, but for those that the test's disk keeps.
std::set<std::string> files_below(const std::string& path) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path + "/captures")) {
    if (entry.is_regular_file() && entry.path().parent_path().extension() != ".kept") {
      names.insert(entry.path().filename());
    }
  }
  return names;
}

std::set<std::string> referred_files(CaptureStore& store) {
  std::set<std::string> names;
  QueryBudget budget;
  Result<CapturePage> page = store.find({}, SIZE_MAX, std::nullopt, budget);
  EXPECT_TRUE(page.ok());
  if (!page) return names;
  for (const StoredCapture& row : page->rows) names.insert(row.info.sha256.hex());
  return names;
}

class CapturePowerCuts {
 public:
  CapturePowerCuts(Durability durability, uint64_t seed) : random_(seed) { rig_.options().durability = durability; }

  uint64_t run(int cuts) {
    EXPECT_EQ(rig_.open(), "");
    uint64_t lost = 0;
    for (int cut = 0; cut < cuts && !::testing::Test::HasFailure(); ++cut) {
      send_until_cut();
      EXPECT_EQ(rig_.cut_power(random_() % 2 ? std::optional<uint64_t>(random_()) : std::nullopt), "");
      lost += check_stored(rig_.store().captures(), sent_, acknowledged_);
      if (rig_.options().durability == Durability::kFsync) {
        EXPECT_EQ(files_below(rig_.path()), referred_files(rig_.store().captures()));
        EXPECT_EQ(rig_.store().captures().stats().damaged, 0u);
      }
      send_again();
    }
    return lost;
  }

 private:
  void send_until_cut() {
    std::atomic<uint64_t> count = 0;
    std::atomic<bool> cut = false;
    std::mutex mutex;
    std::vector<std::jthread> threads;
    for (uint64_t sender = 0; sender < kCaptureSenders; ++sender) {
      threads.emplace_back([&] {
        while (!cut) {
          uint64_t number = next_++;
          bool durable = send(rig_.store().captures(), test_capture(number), content_of(number), 3'000).outcome ==
                         AppendOutcome::kDurable;
          std::lock_guard lock(mutex);
          sent_.insert(number);
          if (durable) acknowledged_.insert(number);
          count += durable;
        }
      });
    }
    uint64_t goal = random_() % 12, syncs = rig_.disk().file_syncs() + random_() % 30;
    bool by_syncs = rig_.options().durability == Durability::kFsync && random_() % 2;
    while (by_syncs ? rig_.disk().file_syncs() < syncs : count < goal) std::this_thread::yield();
    rig_.disk().crash();
    cut = true;
  }

  void send_again() {
    for (uint64_t number : sent_) {
      AppendResult again = send(rig_.store().captures(), test_capture(number), content_of(number));
      EXPECT_EQ(again.outcome, AppendOutcome::kDurable) << again.message;
      acknowledged_.insert(number);
    }
  }

  RocksRig rig_;
  std::mt19937_64 random_;
  std::atomic<uint64_t> next_ = 0;
  std::set<uint64_t> sent_, acknowledged_;
};

uint64_t captures_lost_in_cuts(Durability durability, uint64_t last_seed) {
  uint64_t lost = 0;
  for (uint64_t seed = 1; seed <= last_seed; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    lost += CapturePowerCuts(durability, seed).run(3);
  }
  return lost;
}

TEST(RocksCapturesPowerCut, WhatWasAcknowledgedIsThere) {
  EXPECT_EQ(captures_lost_in_cuts(Durability::kFsync, seeds(6)), 0u);
}

TEST(RocksCapturesPowerCut, WithoutSyncsTheyAreLost) {
  // With fewer seeds, possibly no cut loses anything.
  const uint64_t cuts = std::max<uint64_t>(3, seeds(3));
  EXPECT_GT(captures_lost_in_cuts(Durability::kOs, cuts), 0u) << "a power cut that loses nothing proves nothing";
}

constexpr const char* kChildDirectory = "FATHOM_TEST_CAPTURES_CHILD";
constexpr int kChildAnswers = 100;  // the descriptor on which it speaks

// The program that is killed: this one, started again for this test alone. It says the number of each capture that is
// durable.
TEST(RocksCapturesKill, Child) {
  const char* directory = std::getenv(kChildDirectory);
  if (directory == nullptr) return;
  RocksOptions options;
  options.path = directory;
  Result<std::unique_ptr<RocksStore>> store = RocksStore::open(options);
  ASSERT_TRUE(store.ok());
  for (uint64_t number = (*store)->captures().stats().captures;; ++number) {
    AppendResult answer = send((*store)->captures(), test_capture(number), content_of(number), 3'000);
    if (answer.outcome != AppendOutcome::kDurable) ::_exit(1);
    if (::write(kChildAnswers, &number, sizeof number) != sizeof number) ::_exit(2);
  }
}

// Runs the child until it has said so many numbers, then kills it; those it said go to `acknowledged`.
void run_and_kill(const std::string& directory, uint64_t count, std::set<uint64_t>& acknowledged) {
  Result<Pipe> pipe = make_pipe();
  ASSERT_TRUE(pipe.ok());
  ASSERT_EQ(::setenv(kChildDirectory, directory.c_str(), 1), 0);
  pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe->write.get(), kChildAnswers);
    // Its only test would be in one of the shards.
    ::unsetenv("GTEST_TOTAL_SHARDS");
    ::unsetenv("GTEST_SHARD_INDEX");
    ::execl("/proc/self/exe", "store_tests", "--gtest_filter=RocksCapturesKill.Child", "--gtest_brief=1", nullptr);
    ::_exit(127);
  }
  ::unsetenv(kChildDirectory);
  pipe->write.close();
  std::string said;
  char buffer[4096];
  ssize_t got = 1;
  while (said.size() < count * 8 && (got = ::read(pipe->read.get(), buffer, sizeof buffer)) > 0) {
    said.append(buffer, static_cast<size_t>(got));
  }
  EXPECT_GT(got, 0) << "the child ended by itself";
  ::kill(child, SIGKILL);
  while ((got = ::read(pipe->read.get(), buffer, sizeof buffer)) > 0) said.append(buffer, static_cast<size_t>(got));
  ::waitpid(child, nullptr, 0);
  for (size_t at = 0; at + 8 <= said.size(); at += 8) {
    uint64_t number;
    std::memcpy(&number, said.data() + at, 8);
    acknowledged.insert(number);
  }
}

TEST(RocksCapturesKill, WhatWasAcknowledgedIsThere) {
  TempDirectory temp;
  std::set<uint64_t> acknowledged;
  RocksOptions options;
  options.path = temp / "data";
  for (uint64_t kill = 0; kill < seeds(5); ++kill) {
    run_and_kill(options.path, 3 + kill * 2, acknowledged);
    ASSERT_FALSE(::testing::Test::HasFailure());
    Result<std::unique_ptr<RocksStore>> store = RocksStore::open(options);
    ASSERT_TRUE(store.ok()) << store.error().message;
    std::set<uint64_t> sent;
    for (uint64_t number = 0; number <= *acknowledged.rbegin() + 1; ++number) sent.insert(number);
    EXPECT_EQ(check_stored((*store)->captures(), sent, acknowledged), 0u);
    EXPECT_EQ((*store)->captures().stats().damaged, 0u);
    EXPECT_EQ(files_below(options.path), referred_files((*store)->captures()));
  }
}

}  // namespace
}  // namespace fathom::store::testing
