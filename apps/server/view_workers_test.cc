// Programs of a few lines in the place of fathom-worker, which keep nothing open and answer all the same.
#include "apps/server/view_workers.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <sstream>

#include "apps/server/snapshot_worker.h"
#include "base/testing/temp_directory.h"

namespace fathom {
namespace {

query::SnapshotId numbered(char digit) {
  return *query::SnapshotId::from_hex_text(std::string(32, digit));
}

class ViewWorkersTest : public testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);  // as the server does
  }

  void script(const std::string& text, ViewWorkersOptions options = {}) {
    options.program = directory_ + "/worker";
    std::ofstream(options.program) << "#!/bin/sh\necho $$ >> " << directory_ << "/pids\n" << text << "\n";
    ::chmod(options.program.c_str(), 0755);
    workers_ = std::make_unique<ViewWorkers>(options);
  }
  Result<std::string> ask(const std::string& line, char snapshot = '1') {
    return workers_->ask("/d", numbered(snapshot), line, budget_);
  }
  std::vector<std::string> pids() const {
    std::vector<std::string> pids;
    std::ifstream file(directory_ + "/pids");
    for (std::string pid; file >> pid;) pids.push_back(pid);
    return pids;
  }
  static void until(const std::function<bool()>& done) {
    const uint64_t patience = now_monotonic_nano() + 60 * kNanosPerSecond;
    while (!done() && now_monotonic_nano() < patience) std::this_thread::yield();
    EXPECT_TRUE(done());
  }

  TempDirectory scratch_;
  const std::string directory_ = scratch_.path();
  std::unique_ptr<ViewWorkers> workers_;
  store::QueryBudget budget_;
};

// Says what it was asked, and by which words it was started.
constexpr const char* kEcho = R"(while read -r line; do body="$* $line"; printf 'ok %d\n%s' ${#body} "$body"; done)";

TEST_F(ViewWorkersTest, OneWorkerAnswersAllAsksOfASnapshot) {
  script(kEcho);
  for (const char* line : {"threads", "calls thread=0", "insns thread=0 row=5"}) {
    auto answer = ask(line);
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(*answer, "--directory /d view " + std::string(32, '1') + " " + line);
  }
  EXPECT_EQ(pids().size(), 1u);
  EXPECT_EQ(workers_->open(), 1u);
}

TEST_F(ViewWorkersTest, ErrorsKeepTheirKinds) {
  script(R"(while read -r status; do printf '%s 4\nword' "$status"; done)");
  EXPECT_EQ(ask("not_found").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(ask("invalid").error().message, "word");
  EXPECT_EQ(ask("internal").error().code, ErrorCode::kInternal);
  EXPECT_EQ(ask("nonsense").error().code, ErrorCode::kCorrupt);
}

TEST_F(ViewWorkersTest, OneThatCannotOpenItSaysWhy) {
  script("echo 'fathom: no snapshot here' >&2; exit 1");
  auto missing = ask("threads");
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "no snapshot here");
  EXPECT_EQ(pids().size(), 1u) << "an ask does not try again what never worked";
  workers_ = std::make_unique<ViewWorkers>(ViewWorkersOptions{.program = directory_ + "/nothing"});
  EXPECT_EQ(ask("threads").error().code, ErrorCode::kUnsupported);
}

TEST_F(ViewWorkersTest, OneThatDiedIsStartedAgain) {
  script(kEcho);
  ASSERT_TRUE(ask("threads").ok());
  ASSERT_EQ(::kill(std::stoi(pids().front()), SIGKILL), 0);
  auto answer = ask("calls");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(pids().size(), 2u);
}

TEST_F(ViewWorkersTest, OneThatDiesOfEveryAskIsNotAskedWithoutEnd) {
  script(R"(read -r line; printf 'ok 2\nhi'; read -r line; echo "of $line" >&2; exit 5)");
  ASSERT_TRUE(ask("first").ok());
  ASSERT_TRUE(ask("second").ok()) << "a new one's first ask";
  EXPECT_EQ(pids().size(), 2u);
}

TEST_F(ViewWorkersTest, WhatIsNoAnswerIsAFault) {
  for (const char* answer :
       {"hello\\n", "ok\\n", "ok -1\\n", "ok 99999999999999999999\\n", "ok 1\\nab", "ok 2x\\nab"}) {
    SCOPED_TRACE(answer);
    script(std::string("read -r line; printf '") + answer + "'; exec sleep 600");
    EXPECT_EQ(ask("threads").error().code, ErrorCode::kCorrupt);
  }
  script("read -r line; exec yes | tr -d '\\n'");
  EXPECT_EQ(ask("threads").error().code, ErrorCode::kCorrupt) << "a line without an end";
  script("read -r line; printf 'ok " + std::to_string(kMostAnswerBytes + 1) + "\\n'; exec cat /dev/zero");
  EXPECT_EQ(ask("threads").error().code, ErrorCode::kExhausted);
  script("read -r line; printf 'ok 10\\nhalf'; exit 0");
  EXPECT_FALSE(ask("threads").ok());
}

TEST_F(ViewWorkersTest, AnAskerThatLeavesDoesNotSpoilTheNext) {
  script("while [ ! -e " + directory_ +
         R"(/go ]; do sleep 0.01; done; while read -r l; do printf 'ok %d\n%s' ${#l} "$l"; done)");
  store::QueryBudget hurried(now_monotonic_nano() + 100'000'000, UINT64_MAX);
  EXPECT_EQ(workers_->ask("/d", numbered('1'), "first", hurried).error().code, ErrorCode::kDeadline);
  std::ofstream(directory_ + "/go") << "now";
  auto answer = ask("second");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(*answer, "second");
  EXPECT_EQ(pids().size(), 1u);
}

TEST_F(ViewWorkersTest, ThereAreAFewAndTheOldestGoes) {
  script(kEcho, {.program = "", .most = 2});
  ASSERT_TRUE(ask("a", '1').ok());
  ASSERT_TRUE(ask("a", '2').ok());
  ASSERT_TRUE(ask("b", '1').ok());
  ASSERT_TRUE(ask("a", '3').ok());
  EXPECT_EQ(workers_->open(), 2u);
  ASSERT_TRUE(ask("c", '1').ok());
  EXPECT_EQ(pids().size(), 3u) << "the first was asked again, and stayed";
  ASSERT_TRUE(ask("b", '2').ok());
  EXPECT_EQ(pids().size(), 4u);
  EXPECT_NE(::kill(std::stoi(pids()[1]), 0), 0);
}

TEST_F(ViewWorkersTest, WhileAllAreBusyAnotherIsRefusedForNow) {
  script("exec sleep 600", {.program = "", .most = 1});
  std::atomic<bool> left{false};
  store::QueryBudget waiting;
  std::thread asker([&] {
    EXPECT_EQ(workers_->ask("/d", numbered('1'), "a", waiting).error().code, ErrorCode::kCancelled);
    left = true;
  });
  until([&] { return workers_->open() == 1 && !pids().empty(); });
  EXPECT_EQ(ask("b", '2').error().code, ErrorCode::kUnavailable);
  waiting.cancel();
  asker.join();
  EXPECT_TRUE(left);
}

TEST_F(ViewWorkersTest, IdleAndOverdueOnesEndByThemselves) {
  script(kEcho, {.program = "", .idle_nano = 1, .tick_nano = 10'000'000});
  ASSERT_TRUE(ask("a").ok());
  until([&] { return workers_->open() == 0; });
  // Not open any more, it still has to come to its end.
  until([&] { return ::kill(std::stoi(pids().front()), 0) != 0; });
  script("exec sleep 600", {.program = "", .overdue_nano = 1, .tick_nano = 10'000'000});
  store::QueryBudget hurried(now_monotonic_nano() + 50'000'000, UINT64_MAX);
  EXPECT_FALSE(workers_->ask("/d", numbered('1'), "a", hurried).ok());
  until([&] { return workers_->open() == 0; });
}

TEST_F(ViewWorkersTest, TheyEndWithWhoeverStartedThem) {
  script(kEcho);
  ASSERT_TRUE(ask("a").ok());
  workers_.reset();
  EXPECT_NE(::kill(std::stoi(pids().front()), 0), 0);
}

}  // namespace
}  // namespace fathom
