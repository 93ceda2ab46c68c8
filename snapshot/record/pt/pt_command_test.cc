// Commands that really run, recorded by a processor that follows a script.
#include "snapshot/record/pt/pt_command.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "snapshot/format/testing/perf_record_builder.h"
#include "snapshot/record/pt/pt_from_function.h"
#include "snapshot/record/pt/pt_from_span.h"
#include "snapshot/record/testing/pt_packets.h"
#include "snapshot/record/testing/scripted_perf.h"

namespace fathom::snapshot {
namespace {

class PtCommandTest : public testing::Test {
 protected:
  PtCommandTest() {
    ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // of the programs: theirs wants ptrace for itself
    system_.use_real_processes();
    system_.now = step::read_tsc();
    directory_.emplace(*SnapshotDirectory::open(system_.root() + "/snapshots"));
    request_.options.aux_bytes = 64 << 10;
    request_.options.sideband_bytes = 16 << 10;
    request_.options.aux_record_bytes = 4096;
    request_.options.most_snapshot_bytes = 1 << 20;
  }
  ~PtCommandTest() override { ::unsetenv("FATHOM_PTWRITE"); }

  // False: ptrace is forbidden here.
  bool record(PtTrigger& trigger, const std::vector<std::string>& command) {
    request_.command = command;
    auto outcome = record_pt_command(system_, *directory_, trigger, request_);
    const bool forbidden = !outcome && outcome.error().message.find("ptrace is forbidden") != std::string::npos;
    if (!outcome && !forbidden) ADD_FAILURE() << outcome.error().message;
    if (outcome) outcome_ = *std::move(outcome);
    return !forbidden;
  }
  // The last packets before the command's first instruction, and older ones.
  void write_old_packets() {
    system_.write_packets(0, psb_header(system_.now - 2 * kNanosPerSecond));
    system_.write_packets(0, psb_header(system_.now - 1000));
  }
  // What the processor does while the command runs.
  void go_on() {
    system_.now = std::max(system_.now, step::read_tsc());
    system_.write_packets(0, psb_header(system_.now));
  }
  void enter(int32_t cpu) {
    PerfRecordBuilder sample(PERF_RECORD_SAMPLE);
    entered_tsc_ = system_.now;
    sample.u64(7).u32(42).u32(43).u64(entered_tsc_).u32(static_cast<uint32_t>(cpu)).u32(0);
    system_.write_sample(cpu, sample.bare());
  }
  Snapshot snapshot(size_t number = 0) { return directory_->open_snapshot(outcome_.taken.at(number).id)->snapshot(); }

  ScriptedPerf system_;
  std::optional<SnapshotDirectory> directory_;
  PtCommandRequest request_;
  PtCommandOutcome outcome_;
  uint64_t entered_tsc_ = 0;
};

TEST_F(PtCommandTest, AFunctionsEntryIsInTheMiddleOfItsWindow) {
  PtFromFunction trigger("fathom_span_activate", 500, 2000);
  system_.on_watch([&](int32_t cpu) {
    if (cpu != 0) return;
    write_old_packets();
    enter(0);
  });
  if (!record(trigger, {SPAN_HOLDER, "--for", "50", "--end"})) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(outcome_.wait_status, 0);
  ASSERT_EQ(outcome_.taken.size(), 1U) << outcome_.fault.value_or("");
  const Snapshot made = snapshot();
  EXPECT_EQ(made.trigger.reason, "symbol");
  EXPECT_EQ(made.trigger.tsc, entered_tsc_);
  EXPECT_EQ(made.trigger.tid, 43);
  EXPECT_EQ(outcome_.taken[0].cost.packet_bytes, psb_header(0).size());  // not the old ones
  EXPECT_EQ(made.command, std::string(SPAN_HOLDER) + " --for 50 --end");
  EXPECT_TRUE(std::ranges::any_of(made.images, [](const Image& image) { return image.name == SPAN_HOLDER; }));
  EXPECT_EQ(system_.open_events(), 0U);
}

TEST_F(PtCommandTest, EachOfSoManyEntriesIsASnapshot) {
  PtFromFunction trigger("main", 500, 200);
  request_.windows = 3;
  system_.on_watch([&](int32_t) { enter(1); });
  if (!record(trigger, {SPAN_HOLDER, "--for", "1000", "--end"})) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(outcome_.wait_status, 0);
  EXPECT_EQ(outcome_.taken.size(), 3U);
  EXPECT_EQ(directory_->list()->size(), 3U);
}

TEST_F(PtCommandTest, AFunctionOfALibraryIsFoundOnceItIsThere) {
  PtFromFunction trigger("pthread_create", 0, 0);
  uint64_t address = 0;
  system_.on_watch([&](int32_t cpu) { address = system_.find(PERF_TYPE_BREAKPOINT, cpu)->attributes.bp_addr; });
  if (!record(trigger, {"/bin/sh", "-c", "exit 7"})) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(WEXITSTATUS(outcome_.wait_status), 7);
  EXPECT_NE(address, 0U);
  EXPECT_EQ(outcome_.fault, "pthread_create was never called");
  EXPECT_TRUE(directory_->list()->empty());
}

TEST_F(PtCommandTest, WithoutTheFunctionTheCommandRunsUnrecorded) {
  PtFromFunction trigger("no_such_function", 0, 0);
  bool armed = false;
  request_.armed = [&] { armed = true; };
  if (!record(trigger, {"/bin/sh", "-c", "exit 7"})) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(WEXITSTATUS(outcome_.wait_status), 7);
  EXPECT_NE(outcome_.fault.value_or("").find("no_such_function"), std::string::npos);
  EXPECT_FALSE(armed);
}

TEST_F(PtCommandTest, ASpanIsCutAtItsEndFromItsBeginning) {
  PtFromSpan trigger("hold", 0);
  request_.armed = [&] { write_old_packets(); };
  request_.interrupted = [&] {
    go_on();
    return 0;
  };
  if (!record(trigger, {SPAN_HOLDER, "--for", "300", "--end"})) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(outcome_.wait_status, 0);
  ASSERT_EQ(outcome_.taken.size(), 1U) << outcome_.fault.value_or("");
  const Snapshot made = snapshot();
  EXPECT_EQ(made.trigger.reason, "requested");
  EXPECT_FALSE(made.trigger.span_id.is_zero());
  EXPECT_FALSE(made.trigger.trace_id.is_zero());
  EXPECT_GT(made.trigger.tid, 0);
  ASSERT_EQ(made.streams.size(), 1U);
  ASSERT_EQ(made.streams[0].pieces.size(), 1U);
  EXPECT_EQ(made.streams[0].pieces[0].bytes % psb_header(0).size(), 0U);
  EXPECT_GE(made.streams[0].pieces[0].bytes, psb_header(0).size());
}

TEST_F(PtCommandTest, AnOverdueSpanIsCutOnceWhileItRuns) {
  PtFromSpan trigger("hold", 100'000'000);
  request_.windows = 2;
  request_.armed = [&] { write_old_packets(); };
  // Of a command that a shell started.
  if (!record(trigger, {"/bin/sh", "-c", SPAN_HOLDER " --for 600 --end; exit 7"}))
    GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(WEXITSTATUS(outcome_.wait_status), 7);
  ASSERT_EQ(outcome_.taken.size(), 1U) << outcome_.fault.value_or("");
  EXPECT_EQ(snapshot().trigger.reason, "overdue");
  EXPECT_FALSE(snapshot().trigger.span_id.is_zero());
}

TEST_F(PtCommandTest, ASpanThatNeverWas) {
  PtFromSpan trigger("nothing", 0);
  if (!record(trigger, {SPAN_HOLDER, "--for", "20", "--end"})) GTEST_SKIP() << "ptrace is forbidden here";
  EXPECT_EQ(outcome_.wait_status, 0);
  EXPECT_TRUE(outcome_.taken.empty());
  EXPECT_NE(outcome_.fault.value_or("").find("nothing"), std::string::npos);
}

TEST_F(PtCommandTest, ASignalKeepsWhatWasRecordedAndLetsTheCommandRun) {
  PtFromStart trigger;
  request_.armed = [&] { write_old_packets(); };
  request_.interrupted = [] { return SIGINT; };
  uint64_t open_then = 0;
  request_.taken = [&](const TakenSnapshot&) { open_then = system_.open_events(); };
  record(trigger, {"/bin/sh", "-c", "sleep 0.3; exit 7"});
  EXPECT_EQ(WEXITSTATUS(outcome_.wait_status), 7);
  ASSERT_EQ(outcome_.taken.size(), 1U);
  EXPECT_EQ(snapshot().trigger.reason, "window");
  EXPECT_GT(open_then, 0U);
}

TEST_F(PtCommandTest, TerminationIsPassedOn) {
  PtFromStart trigger;
  request_.interrupted = [] { return SIGTERM; };
  record(trigger, {"sleep", "600"});
  EXPECT_TRUE(WIFSIGNALED(outcome_.wait_status));
  EXPECT_EQ(WTERMSIG(outcome_.wait_status), SIGTERM);
  EXPECT_EQ(outcome_.taken.size(), 1U);
}

TEST_F(PtCommandTest, WhatCannotBeArmedDoesNotRun) {
  system_.refuse_open(ScriptedPerf::kPtType, -1, EACCES);
  const std::string mark = system_.root() + "/ran";
  for (const bool whole : {true, false}) {
    PtFromStart from_start;
    PtFromFunction from_function("main", 0, 0);
    PtTrigger& trigger = whole ? static_cast<PtTrigger&>(from_start) : from_function;
    request_.command = {SPAN_HOLDER, "--for", "20", "--end"};
    if (whole) request_.command = {"touch", mark};
    EXPECT_FALSE(record_pt_command(system_, *directory_, trigger, request_).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST_F(PtCommandTest, WhereTheProcessorHasPtwriteTheClientIsToldAndItsPacketsAreAskedFor) {
  PtFromStart trigger;
  record(trigger, {"/bin/sh", "-c", "exit ${FATHOM_PTWRITE:-9}"});
  EXPECT_EQ(WEXITSTATUS(outcome_.wait_status), 1);
  const auto pt = std::ranges::find_if(
      system_.events(), [](const auto& event) { return event->attributes.type == ScriptedPerf::kPtType; });
  ASSERT_NE(pt, system_.events().end());
  EXPECT_NE((*pt)->attributes.config & uint64_t{1} << 12, 0U);
  ::unsetenv("FATHOM_PTWRITE");
  system_.put_file("/sys/bus/event_source/devices/intel_pt/caps/ptwrite", "0\n");
  PtFromStart again;
  record(again, {"/bin/sh", "-c", "exit ${FATHOM_PTWRITE:-9}"});
  EXPECT_EQ(WEXITSTATUS(outcome_.wait_status), 9);
}

}  // namespace
}  // namespace fathom::snapshot
