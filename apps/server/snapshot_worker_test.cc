// Programs of a few lines in the place of fathom-worker.
#include "apps/server/snapshot_worker.h"
#include "base/testing/temp_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/time.h"

namespace fathom {
namespace {

class SnapshotWorkerTest : public testing::Test {
 protected:
  query::RunWorker worker(const std::string& script) {
    std::string path = directory_ + "/worker";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    ::chmod(path.c_str(), 0755);
    return snapshot_worker(path);
  }
  Result<std::string> ask(const std::string& script, const std::vector<std::string>& words = {}) {
    return worker(script)(words, budget_);
  }
  std::string content(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(directory_ + "/" + name).rdbuf();
    return text.str();
  }

  TempDirectory scratch_;
  const std::string directory_ = scratch_.path();
  store::QueryBudget budget_;
};

TEST_F(SnapshotWorkerTest, WordsGoInAndTheAnswerComesOut) {
  auto answer = ask(R"(echo "warning" >&2; printf '%s|' "$@")", {"--directory", "/d", "calls", "a b", "*"});
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(*answer, "--directory|/d|calls|a b|*|");
}

TEST_F(SnapshotWorkerTest, AnUnsafeWorkerIsToldSo) {
  worker(R"(printf '%s|' "$@")");  // writes the program
  auto answer = snapshot_worker(directory_ + "/worker", true)({"--directory", "/d", "list"}, budget_);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(*answer, "--unsafe-worker|--directory|/d|list|");
}

TEST_F(SnapshotWorkerTest, ItsExitStatusSaysWhoseFaultItIs) {
  auto missing = ask("echo first >&2; echo 'fathom-worker: there is no snapshot 12' >&2; exit 1");
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "there is no snapshot 12");
  EXPECT_EQ(ask("echo 'fathom-worker: no such pattern' >&2; exit 2").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(ask("echo broken >&2; exit 5").error().code, ErrorCode::kInternal);
  EXPECT_EQ(ask("exit 3").error().message, "fathom-worker ended with status 3");
  auto killed = ask("echo 'out of memory' >&2; kill -9 $$");
  EXPECT_EQ(killed.error().code, ErrorCode::kInternal);
  EXPECT_EQ(killed.error().message, "fathom-worker was killed by signal 9 (Killed): out of memory");
}

TEST_F(SnapshotWorkerTest, WhatItSaysWithoutEndIsCut) {
  auto failed = ask("yes complaint | head -c 1000000 >&2; exit 5");
  EXPECT_EQ(failed.error().code, ErrorCode::kInternal);
  EXPECT_LE(failed.error().message.size(), 4096u);
}

TEST_F(SnapshotWorkerTest, AnAnswerOfExactlyTheLimitIsOneAndMoreIsTooMuch) {
  const std::string limit = std::to_string(kMostAnswerBytes);
  auto whole = ask("head -c " + limit + " /dev/zero");
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(whole->size(), kMostAnswerBytes);
  auto more = ask("head -c " + std::to_string(kMostAnswerBytes + 1) + " /dev/zero");
  EXPECT_EQ(more.error().code, ErrorCode::kExhausted);
  EXPECT_NE(more.error().message.find("limit="), std::string::npos);
  EXPECT_EQ(ask("cat /dev/zero").error().code, ErrorCode::kExhausted) << "one that never ends is killed";
}

// The child's own process id, by which one can see that it has gone.
bool is_gone(const std::string& pid) {
  return ::kill(std::stoi(pid), 0) != 0;
}

TEST_F(SnapshotWorkerTest, BeyondTheDeadlineItIsKilled) {
  store::QueryBudget budget(now_monotonic_nano() + kNanosPerSecond, UINT64_MAX);
  auto late = worker("echo $$ > " + directory_ + "/pid; exec sleep 600")({}, budget);
  EXPECT_EQ(late.error().code, ErrorCode::kDeadline);
  // Under load it may not have come so far as to say it.
  const std::string pid = content("pid");
  EXPECT_TRUE(pid.empty() || is_gone(pid)) << pid;
}

TEST_F(SnapshotWorkerTest, WhenTheAskerGoesItIsKilledWithAllThatItStarted) {
  std::atomic<bool> ended{false};
  std::thread asker([&] {
    while (content("pid").find('\n') == std::string::npos && !ended) std::this_thread::yield();
    budget_.cancel();
  });
  auto cancelled = ask("sleep 600 & echo $! > " + directory_ + "/pid; wait");
  ended = true;
  asker.join();
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
  const std::string pid = content("pid");
  const uint64_t patience = now_monotonic_nano() + 60 * kNanosPerSecond;  // init reaps it some time
  while (!is_gone(pid) && now_monotonic_nano() < patience) std::this_thread::yield();
  EXPECT_TRUE(is_gone(pid)) << pid;
}

TEST_F(SnapshotWorkerTest, OneThatClosedItsOutputsIsNotWaitedForLongerThanTheBudget) {
  store::QueryBudget budget(now_monotonic_nano() + kNanosPerSecond, UINT64_MAX);
  EXPECT_EQ(worker("exec >&- 2>&-; exec sleep 600")({}, budget).error().code, ErrorCode::kDeadline);
}

TEST_F(SnapshotWorkerTest, WithoutAWorkerThereIsACure) {
  auto missing = snapshot_worker(directory_ + "/nothing")({}, budget_);
  EXPECT_EQ(missing.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(missing.error().message.find("missing"), std::string::npos);
}

}  // namespace
}  // namespace fathom
