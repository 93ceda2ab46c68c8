// Each subject of step_subject, stepped, decoded by libipt, and compared address by address.
#include "snapshot/record/step/stepper.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "base/testing/repetitions.h"
#include "snapshot/format/deadly_signal.h"
#include "snapshot/record/step/from_function.h"
#include "snapshot/record/step/from_span.h"
#include "snapshot/record/step/from_start.h"
#include "snapshot/record/step/record_command.h"
#include "snapshot/record/testing/flow_check.h"

namespace fathom::snapshot::step {
namespace {

constexpr int kNotPossible = 77;

class StepperTest : public ::testing::Test {
 protected:
  StepperTest() {
    ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // of the programs: theirs wants ptrace for itself
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
    directory_.emplace(std::move(*SnapshotDirectory::open(path_)));
  }
  ~StepperTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  // False: ptrace is forbidden here.
  bool record(StepTrigger& trigger, const std::vector<std::string>& command, const StepLimits& limits = {}) {
    StepRequest request;
    request.command = command;
    request.limits = limits;
    request.bind_now = bind_now_;
    request.observer = [&](pid_t tid, uint64_t ip) { log_[tid].push_back(ip); };
    request.written = [&](const StepOutcome& outcome) { outcome_ = outcome; };
    auto status = record_command(*directory_, trigger, request);
    const bool forbidden = !status && status.error().message.find("ptrace is forbidden") != std::string::npos;
    if (!status && !forbidden) ADD_FAILURE() << status.error().message;
    if (status) wait_status_ = *status;
    return !forbidden;
  }

  void expect_same() {
    ASSERT_TRUE(outcome_.id);
    auto check = check_flow(*directory_, *outcome_.id, log_);
    ASSERT_TRUE(check) << check.error().message;
    EXPECT_EQ(check->mismatches, 0U) << check->first;
    EXPECT_EQ(check->errors, 0U) << check->first;
    EXPECT_EQ(check->instructions, outcome_.instructions);
    for (const Loss& loss : snapshot().losses) EXPECT_EQ(loss.name, "critical sections run over");
  }

  Snapshot snapshot() const { return directory_->open_snapshot(*outcome_.id)->snapshot(); }
  uint64_t rows(SidebandKind kind) const {
    const Snapshot whole = snapshot();
    return static_cast<uint64_t>(
        std::ranges::count_if(whole.sideband, [&](const Sideband& row) { return row.kind == kind; }));
  }

  std::string path_ = ::testing::TempDir() + "stepper_XXXXXX";
  std::optional<SnapshotDirectory> directory_;
  StepLog log_;
  StepOutcome outcome_;
  int wait_status_ = -1;
  bool bind_now_ = false;
};

int status_alone(const std::string& program, const std::string& subject) {
  const int status = std::system((program + " " + subject).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class StepperSubject : public StepperTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void step(const std::string& program) {
    if (status_alone(program, GetParam()) == kNotPossible) GTEST_SKIP() << "this machine has no " << GetParam();
    FromFunction trigger("run_subject");
    StepLimits limits;
    limits.most_steps = 20'000'000;
    if (!record(trigger, {program, GetParam()}, limits)) GTEST_SKIP() << "ptrace is forbidden here";
    EXPECT_EQ(wait_status_, 0);
    EXPECT_EQ(outcome_.gaps, std::string(GetParam()) == "rseq" ? rows(SidebandKind::kGap) : 0U);
    expect_same();
  }
};

TEST_P(StepperSubject, IsDecodedAsItWasStepped) {
  step(STEP_SUBJECT);
}
// A sanitizer sees the same code of ours as in the test before.
TEST_P(StepperSubject, AtFixedAddresses) {
  if (is_shortened()) GTEST_SKIP() << "runs without a sanitizer, or with FATHOM_TEST_FULL=1";
  step(STEP_SUBJECT "_fixed");
}

INSTANTIATE_TEST_SUITE_P(All, StepperSubject,
                         ::testing::Values("recursion", "indirect", "branches", "rep", "avx512", "flags", "exceptions",
                                           "longjmp", "signals", "faults", "breakpoints", "calls", "interrupted",
                                           "stopped", "vdso", "rseq", "threads", "processes", "exec", "dlopen", "jit",
                                           "affinity", "overlap"),
                         [](const auto& about) { return std::string(about.param); });

TEST_F(StepperTest, AWholeProgramFromItsFirstInstruction) {
  FromStart trigger;
  StepLimits limits;
  limits.most_steps = 20'000'000;
  if (!record(trigger, {"/bin/true"}, limits)) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(wait_status_, 0);
  expect_same();
  const Snapshot made = snapshot();
  EXPECT_EQ(made.engine, Engine::kStep);
  EXPECT_EQ(made.command, "/bin/true");
  EXPECT_GT(made.slowdown, 10);
  EXPECT_EQ(made.trigger.reason, "window");
  EXPECT_NE(made.timing.conversion_mult, 0U);
  EXPECT_GT(rows(SidebandKind::kMap), 3U);
  EXPECT_GT(rows(SidebandKind::kSystemCall), 5U);
  EXPECT_EQ(rows(SidebandKind::kExit), 1U);
}

// The linker's work is not recorded, and main() from its first instruction on, with what it calls and all threads.
TEST_F(StepperTest, AWholeProgramFromMainOn) {
  FromStart trigger(FromStart::Begin::kMain);
  StepLimits limits;
  limits.most_steps = 20'000'000;
  if (!record(trigger, {STEP_SUBJECT, "threads"}, limits)) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(wait_status_, 0);
  expect_same();
  EXPECT_TRUE(trigger.reached_main());
  EXPECT_EQ(snapshot().trigger.reason, "window");
  EXPECT_EQ(outcome_.threads, 4U);
  EXPECT_EQ(outcome_.cut_off, 0U);
  EXPECT_EQ(rows(SidebandKind::kExit), 4U);
}

// A name that was stripped: then from where the kernel's and the linker's work is over.
TEST_F(StepperTest, AStrippedProgramFromItsEntryPointOn) {
  FromStart whole;
  StepLimits limits;
  limits.most_steps = 20'000'000;
  if (!record(whole, {"/bin/true"}, limits)) GTEST_SKIP() << "ptrace is forbidden here";
  const uint64_t all = outcome_.instructions;
  log_.clear();
  FromStart trigger(FromStart::Begin::kMain);
  ASSERT_TRUE(record(trigger, {"/bin/true"}, limits));
  EXPECT_EQ(wait_status_, 0);
  EXPECT_GT(outcome_.instructions, 100U);
  EXPECT_LT(outcome_.instructions, all / 2);
  expect_same();
}

TEST_F(StepperTest, OneThreadAloneLeavesOutThoseThatItMakes) {
  for (const char* subject : {"threads", "processes"}) {
    SCOPED_TRACE(subject);
    log_.clear();
    FromFunction trigger("run_subject");
    StepLimits limits;
    limits.most_steps = 20'000'000;
    limits.all_threads = false;
    if (!record(trigger, {STEP_SUBJECT, subject}, limits)) GTEST_SKIP() << "ptrace is forbidden here";
    EXPECT_EQ(wait_status_, 0);
    EXPECT_EQ(outcome_.threads, 1U);
    EXPECT_EQ(log_.size(), 1U);
    EXPECT_EQ(rows(SidebandKind::kFork), 0U);
    expect_same();
  }
}

TEST_F(StepperTest, EndsAtItsLimitAndLetsTheProgramGoOn) {
  FromStart trigger;
  StepLimits limits;
  limits.most_steps = 5'000;
  if (!record(trigger, {"/bin/sh", "-c", "exit 7"}, limits)) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(WEXITSTATUS(wait_status_), 7);
  EXPECT_TRUE(outcome_.reached_limit);
  EXPECT_EQ(outcome_.instructions, 5'000U);
  expect_same();
}

// The program's exit status tells the value that it finds in its environment.
TEST_F(StepperTest, FunctionsAreBoundAtTheStartWhereThatIsAskedFor) {
  const auto found = [&](bool asked) {
    bind_now_ = asked;
    FromStart trigger;
    StepLimits limits;
    limits.most_steps = 1'000;
    const bool possible = record(trigger, {"/bin/sh", "-c", "exit ${LD_BIND_NOW:-7}"}, limits);
    return possible ? WEXITSTATUS(wait_status_) : -1;
  };
  ::unsetenv("LD_BIND_NOW");
  const int as_it_is = found(false);
  if (as_it_is < 0) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(as_it_is, 7);
  EXPECT_EQ(found(true), 1);
  ::setenv("LD_BIND_NOW", "3", 1);
  EXPECT_EQ(found(true), 3) << "the person's own";
  ::unsetenv("LD_BIND_NOW");
}

// The report must name the thread at the end of the chain, not one that waits, too.
TEST_F(StepperTest, AChainOfHoldersIsFollowedToItsEnd) {
  FromFunction trigger("chain_begins");
  StepLimits limits;
  limits.most_steps = 20'000'000;
  if (!record(trigger, {STEP_SUBJECT, "chain"}, limits)) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(wait_status_, 0);
  expect_same();
  ASSERT_FALSE(outcome_.locks.empty());
  const HeldLock& first = outcome_.locks.front();
  EXPECT_EQ(first.waiters.front(), snapshot().trigger.tid);
  ASSERT_EQ(first.chain.links.size(), 1U) << held_lock_text(first);
  EXPECT_NE(first.blocking_thread(), first.holder);
  EXPECT_EQ(first.chain.system_call, "vfork") << held_lock_text(first);
  EXPECT_FALSE(first.chain.is_deadlock);
  EXPECT_EQ(held_locks(snapshot()).front().blocking_thread(), first.blocking_thread()) << "from the file, too";
}

TEST_F(StepperTest, ASpanFromItsBeginningToItsEnd) {
  FromSpan trigger("hold", 0);
  if (!record(trigger, {SPAN_HOLDER, "--for", "200", "--end"})) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(wait_status_, 0);
  expect_same();
  const Trigger why = snapshot().trigger;
  EXPECT_EQ(why.reason, "requested");
  EXPECT_FALSE(why.trace_id.is_zero());
  EXPECT_FALSE(why.span_id.is_zero());
  EXPECT_GT(rows(SidebandKind::kSystemCall), 0U);
}

TEST_F(StepperTest, ASpanThatIsOverdueWhileItRuns) {
  FromSpan trigger("h*d", 300'000'000);
  if (!record(trigger, {SPAN_HOLDER, "--for", "1500", "--end"})) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(wait_status_, 0);
  expect_same();
  EXPECT_EQ(snapshot().trigger.reason, "overdue");
  EXPECT_FALSE(snapshot().trigger.span_id.is_zero());
}

// The first is late all the while that it is stepped: that is no second window.
TEST_F(StepperTest, SpansThatAreOverdueOneAfterTheOther) {
  FromSpan trigger("hold", 20'000'000);
  StepLimits limits;
  limits.windows = 2;
  limits.all_threads = false;
  const std::vector<std::string> command{
      "/bin/sh", "-c", SPAN_HOLDER " --for 300 --end >/dev/null; " SPAN_HOLDER " --for 300 --end >/dev/null"};
  if (!record(trigger, command, limits)) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(wait_status_, 0);
  EXPECT_EQ(outcome_.windows, 2U);
  EXPECT_EQ(outcome_.threads, 2U);
  expect_same();
}

TEST_F(StepperTest, ASpanThatNeverWas) {
  FromSpan trigger("nothing", 0);
  if (!record(trigger, {SPAN_HOLDER, "--for", "20", "--end"})) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(wait_status_, 0);
  EXPECT_FALSE(outcome_.id);
  EXPECT_NE(outcome_.fault.value_or("").find("nothing"), std::string::npos);
}

TEST_F(StepperTest, EachCallIsAWindow) {
  FromFunction trigger("fathom_span_end");
  StepLimits limits;
  limits.all_threads = false;
  limits.windows = 1;
  if (!record(trigger, {SPAN_HOLDER, "--for", "20", "--end"}, limits)) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(outcome_.windows, 1U);
  EXPECT_EQ(snapshot().trigger.reason, "symbol");
  EXPECT_FALSE(snapshot().trigger.trace_id.is_zero()) << "a span was active";
  expect_same();
}

TEST_F(StepperTest, SeveralCallsEachInAProcessOfItsOwn) {
  FromFunction trigger("subject_calls");
  StepLimits limits;
  limits.all_threads = false;
  limits.windows = 3;
  const std::string calls = std::string(STEP_SUBJECT) + " calls; ";
  if (!record(trigger, {"/bin/sh", "-c", calls + calls + calls}, limits)) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(wait_status_, 0);
  EXPECT_EQ(outcome_.windows, 3U);
  expect_same();
}

// How often the instruction ran that ran `times` times; else 0.
uint64_t ran_so_often(const StepLog& log, uint64_t times) {
  for (const auto& [tid, addresses] : log) {
    std::map<uint64_t, uint64_t> counts;
    for (uint64_t ip : addresses) counts[ip]++;
    if (std::ranges::any_of(counts, [&](const auto& one) { return one.second == times; })) return times;
  }
  return 0;
}

// Two calls in two threads at a time: the one that returns first does not end the other's window.
TEST_F(StepperTest, CallsThatOverlapAreRecordedToTheirReturn) {
  for (bool all_threads : {false, true}) {
    SCOPED_TRACE(all_threads);
    log_.clear();
    FromFunction trigger("overlapping_call");
    StepLimits limits;
    limits.all_threads = all_threads;
    limits.windows = 2;
    limits.most_steps = 20'000'000;
    if (!record(trigger, {STEP_SUBJECT, "overlap"}, limits)) GTEST_SKIP() << "ptrace is forbidden here";
    EXPECT_EQ(wait_status_, 0);
    EXPECT_EQ(outcome_.windows, 2U);
    EXPECT_EQ(outcome_.calls, 2U);
    EXPECT_EQ(outcome_.cut_off, 0U);
    EXPECT_EQ(ran_so_often(log_, 1234), 1234U);
    expect_same();
  }
}

// One of the two is asked for; the other is recorded while that one is, and then cut off, which is said.
TEST_F(StepperTest, SaysHowManyCallsWereCutOff) {
  FromFunction trigger("overlapping_call");
  StepLimits limits;
  limits.windows = 1;
  limits.most_steps = 20'000'000;
  if (!record(trigger, {STEP_SUBJECT, "overlap"}, limits)) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(outcome_.windows, 1U);
  const Snapshot made = snapshot();
  const auto cut = std::ranges::find(made.losses, "calls or spans cut off when recording ended", &Loss::name);
  EXPECT_EQ(cut == made.losses.end() ? 0 : cut->count, outcome_.cut_off);
}

TEST_F(StepperTest, ACallThatTheLimitCutsOffIsCounted) {
  FromFunction trigger("run_subject");
  StepLimits limits;
  limits.most_steps = 500;
  if (!record(trigger, {STEP_SUBJECT, "recursion"}, limits)) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(outcome_.calls, 1U);
  EXPECT_EQ(outcome_.cut_off, 1U);
  ASSERT_EQ(snapshot().losses.size(), 1U);
  EXPECT_EQ(snapshot().losses[0], (Loss{"calls or spans cut off when recording ended", 1}));
}

TEST_F(StepperTest, TellsWhereASignalKilledTheProgram) {
  FromFunction trigger("crash_here");
  if (!record(trigger, {STEP_SUBJECT, "crash"})) GTEST_SKIP() << "ptrace is forbidden here";
  ASSERT_TRUE(WIFSIGNALED(wait_status_));
  EXPECT_EQ(WTERMSIG(wait_status_), SIGSEGV);
  ASSERT_TRUE(outcome_.death);
  EXPECT_EQ(outcome_.death->signal, SIGSEGV);
  EXPECT_TRUE(outcome_.death->place.starts_with("crash_here+0x")) << outcome_.death->place;
  EXPECT_EQ(outcome_.cut_off, 0U);
  const auto deadly = deadly_signals(snapshot());
  ASSERT_EQ(deadly.size(), 1U);
  EXPECT_EQ(deadly[0].signal, SIGSEGV);
  EXPECT_NE(deadly[0].address, 0U);
  expect_same();
}

TEST_F(StepperTest, SaysWhyNothingWasRecorded) {
  FromFunction trigger("no_such_function");
  if (!record(trigger, {STEP_SUBJECT, "recursion"})) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_FALSE(outcome_.id);
  EXPECT_NE(outcome_.fault.value_or("").find("no_such_function"), std::string::npos);
  EXPECT_TRUE(directory_->list()->empty());
  EXPECT_TRUE(std::filesystem::is_empty(path_ + "/drafts"));
}

}  // namespace
}  // namespace fathom::snapshot::step
