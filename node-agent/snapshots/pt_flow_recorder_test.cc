// From an ask in nanoseconds to a snapshot's file, on a system that follows a script. One thread plays both.
#include "node-agent/snapshots/pt_flow_recorder.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <string>

#include "snapshot/format/testing/perf_record_builder.h"
#include "snapshot/record/testing/pt_packets.h"
#include "snapshot/record/testing/scripted_perf.h"

namespace fathom::agent {
namespace {

using snapshot::ScriptedPerf;
using snapshot::Snapshot;
using snapshot::SnapshotDirectory;

class PtFlowRecorderTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_.emplace(*SnapshotDirectory::open(system_.root() + "/snapshots"));
    options_.pt.aux_bytes = 64 << 10;
    options_.pt.sideband_bytes = 16 << 10;
    options_.pt.aux_record_bytes = 4096;
    options_.pt.most_snapshot_bytes = 1 << 20;
    options_.window_nano = 1'000'000;
    options_.all_users = true;
    // The thread's last CPU is the 37th word behind its name, which may have anything in it.
    std::string stat = "43 (a) b) S";
    for (int i = 0; i < 35; ++i) stat += " 0";
    system_.put_file("/proc/42/task/43/stat", stat + " 1 0 0\n");
  }
  void arm() {
    auto armed = PtFlowRecorder::arm(system_, *directory_, options_);
    ASSERT_TRUE(armed.ok()) << armed.error().message;
    recorder_ = *std::move(armed);
  }
  SnapshotAsk ask(uint64_t at_nano, uint64_t begin_nano = 0) const {
    SnapshotAsk made{.reason = "overdue", .trace_id = {}, .span_id = {}, .pid = 42, .tid = 43};
    made.trace_id.bytes.fill(0xab);
    made.span_id.bytes.fill(0xcd);
    made.begin_nano = begin_nano;
    made.at_nano = at_nano;
    return made;
  }
  // A process runs on CPU 0 for a while.
  void run(int32_t pid, const std::string& packets) {
    snapshot::PerfRecordBuilder record(PERF_RECORD_SWITCH_CPU_WIDE);
    const std::string text = record.u32(0).u32(0).with_id(pid, pid, system_.now, 0);
    system_.write_record(0, text);
    system_.now += 200'000;
    system_.write_packets(0, snapshot::psb_header(system_.now) + packets);
    system_.now += 200'000;
    write(0, system_.now);
  }
  void write(int32_t cpu, uint64_t tsc) {
    system_.write_packets(cpu, snapshot::psb_header(tsc) + std::string(100, 'p'));
  }
  Snapshot cut(const SnapshotAsk& ask) {
    recorder_->stop(ask);
    auto taken = recorder_->take(ask);
    EXPECT_TRUE(taken.ok()) << taken.error().message;
    packet_bytes_ = taken->packet_bytes;
    auto file = directory_->open_snapshot(taken->id);
    EXPECT_TRUE(file.ok());
    return file->snapshot();
  }

  ScriptedPerf system_;
  std::optional<SnapshotDirectory> directory_;
  PtFlowOptions options_;
  std::unique_ptr<PtFlowRecorder> recorder_;
  uint64_t packet_bytes_ = 0;
};

TEST_F(PtFlowRecorderTest, ASnapshotSaysWhatItIsAboutAndHasItsWindow) {
  arm();
  write(0, system_.now);  // long before the window
  system_.now += 10'000'000;
  write(0, system_.now);  // from here on, a PSB before its begin, it can be decoded
  system_.now += 5'000'000;
  write(0, system_.now);
  const uint64_t at = system_.now += 500'000;
  const Snapshot made = cut(ask(at));
  EXPECT_EQ(made.engine, snapshot::Engine::kIntelPt);
  EXPECT_EQ(made.trigger.reason, "overdue");
  EXPECT_EQ(made.trigger.trace_id, ask(0).trace_id);
  EXPECT_EQ(made.trigger.span_id, ask(0).span_id);
  EXPECT_EQ(made.trigger.tid, 43);
  EXPECT_NEAR(static_cast<double>(made.trigger.tsc), static_cast<double>(at), 1000);
  EXPECT_EQ(made.command, "the whole node");
  EXPECT_EQ(packet_bytes_, 2 * (snapshot::psb_header(0).size() + 100));
}

TEST_F(PtFlowRecorderTest, ASnapshotShowsTheUserOfTheTriggerAlone) {
  options_.all_users = false;
  system_.set_owner(42, 1000);
  system_.put_file("/proc/42/task/42/comm", "shop\n");
  arm();
  run(42, std::string(100, 'p'));
  const Snapshot by_proc = cut(ask(system_.now));
  EXPECT_EQ(by_proc.command, "the programs of user 1000");
  EXPECT_GT(packet_bytes_, 100u);
  // It changed its user after it had connected.
  SnapshotAsk changed = ask(system_.now);
  changed.uid = 1001;
  EXPECT_FALSE(recorder_->knows_user(changed));
  EXPECT_FALSE(recorder_->take(changed).ok());
  // Of a program that has ended, the kernel vouched for the user when it connected.
  run(42, std::string(100, 'p'));
  SnapshotAsk of_another = ask(system_.now);
  of_another.pid = 43;
  of_another.uid = 1001;
  EXPECT_EQ(cut(of_another).command, "the programs of user 1001");
  EXPECT_EQ(packet_bytes_, 0u);
}

TEST_F(PtFlowRecorderTest, ATriggerWithoutAUserIsKnownBeforeAnythingIsCut) {
  arm();
  EXPECT_TRUE(recorder_->knows_user({.reason = "requested", .trace_id = {}, .span_id = {}})) << "it shows everybody's";
  recorder_.reset();
  options_.all_users = false;
  arm();
  EXPECT_FALSE(recorder_->knows_user({.reason = "requested", .trace_id = {}, .span_id = {}}));
  EXPECT_FALSE(recorder_->knows_user(ask(system_.now))) << "/proc says nothing of it";
  system_.set_owner(42, 1000, 0);
  EXPECT_FALSE(recorder_->knows_user(ask(system_.now))) << "its ids differ";
  system_.set_owner(42, 1000);
  EXPECT_TRUE(recorder_->knows_user(ask(system_.now)));
  recorder_->stop(ask(system_.now));
  recorder_->resume();
  EXPECT_TRUE(system_.find(ScriptedPerf::kPtType, 0)->enabled);
}

TEST_F(PtFlowRecorderTest, WhatProgramsWriteIsRecordedWhereTheProcessorCan) {
  arm();
  EXPECT_TRUE(recorder_->marks_spans());
  recorder_.reset();
  system_.put_file("/sys/bus/event_source/devices/intel_pt/caps/ptwrite", "0\n");
  arm();
  EXPECT_FALSE(recorder_->marks_spans());
}

TEST_F(PtFlowRecorderTest, TheWindowBeginsNoSoonerThanItsSpan) {
  options_.window_nano = 1'000'000'000;
  arm();
  write(0, system_.now);
  system_.now += 10'000'000;
  write(0, system_.now);
  const uint64_t start = system_.now += 5'000'000;
  write(0, system_.now += 1000);
  cut(ask(system_.now += 500'000, start));
  EXPECT_EQ(packet_bytes_, 2 * (snapshot::psb_header(0).size() + 100));
}

TEST_F(PtFlowRecorderTest, TheRingOfTheThreadsCpuIsStoppedFirst) {
  arm();
  const size_t before = system_.calls().size();
  recorder_->stop(ask(system_.now));
  EXPECT_EQ(system_.calls()[before], "disable 8:1");
  EXPECT_EQ(system_.calls()[before + 1], "disable 8:0");
}

TEST_F(PtFlowRecorderTest, AThreadThatIsNotThereIsNobody) {
  arm();
  SnapshotAsk other = ask(system_.now);
  other.tid = 99;
  EXPECT_EQ(cut(other).trigger.tid, -1);
}

TEST_F(PtFlowRecorderTest, AHostThatCannotSaysWhyAndWhatHelps) {
  system_.remove_file("/sys/bus/event_source/devices/intel_pt/type");
  system_.put_file("/proc/cpuinfo", "vendor_id\t: AuthenticAMD\nmodel name\t: Some CPU\n");
  auto armed = PtFlowRecorder::arm(system_, *directory_, options_);
  ASSERT_FALSE(armed.ok());
  EXPECT_EQ(armed.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(armed.error().message.find("not Intel's"), std::string::npos) << armed.error().message;
  EXPECT_NE(armed.error().message.find("; "), std::string::npos) << armed.error().message;
}

TEST_F(PtFlowRecorderTest, WhatTheSystemRefusesIsSaid) {
  system_.refuse_open(ScriptedPerf::kPtType, -1, EACCES);
  auto armed = PtFlowRecorder::arm(system_, *directory_, options_);
  ASSERT_FALSE(armed.ok());
  EXPECT_NE(armed.error().message.find("; "), std::string::npos) << armed.error().message;
  EXPECT_EQ(system_.open_events(), 0u);
}

TEST_F(PtFlowRecorderTest, ASymbolThatIsNoneIsTheUsersFault) {
  for (const char* symbol : {"checkout", "/nowhere:checkout", "/proc/self/exe:there_is_no_such_function"}) {
    options_.symbol = symbol;
    auto armed = PtFlowRecorder::arm(system_, *directory_, options_);
    ASSERT_FALSE(armed.ok()) << symbol;
  }
}

}  // namespace
}  // namespace fathom::agent
