// From arming to a snapshot's file, on a system that follows a script.
#include "snapshot/record/pt/pt_recorder.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "snapshot/format/address_filter.h"
#include "snapshot/format/testing/perf_record_builder.h"
#include "snapshot/record/pt/symbol_trigger.h"
#include "snapshot/record/testing/pt_packets.h"
#include "snapshot/record/testing/scripted_perf.h"

namespace fathom::snapshot {
namespace {

class PtRecorderTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_path_ = system_.root() + "/snapshots";
    directory_.emplace(*SnapshotDirectory::open(directory_path_));
    options_.aux_bytes = 64 << 10;
    options_.sideband_bytes = 16 << 10;
    options_.aux_record_bytes = 4096;
    options_.most_snapshot_bytes = 1 << 20;
    put_process(42, "shop", "/usr/bin/shop");
    put_process(50, "other", "/usr/bin/other");
  }

  void put_process(int32_t pid, const std::string& name, const std::string& file) {
    const std::string process = "/proc/" + std::to_string(pid);
    system_.put_file(process + "/task/" + std::to_string(pid) + "/comm", name + "\n");
    system_.put_file(process + "/root" + file, "the image of " + name);
    struct stat about {};
    ASSERT_EQ(::stat(system_.path(process + "/root" + file).c_str(), &about), 0);
    system_.put_file(
        process + "/maps",
        "00400000-00402000 r-xp 00001000 00:20 " + std::to_string(about.st_ino) + "  " + file +
            "\n00600000-00601000 rw-p 00000000 00:00 0 \n7ffc0000-7ffc1000 r-xp 00000000 00:00 0  [stack]\n");
  }
  PtRecorder& arm() {
    auto armed = PtRecorder::arm(system_, *directory_, options_);
    EXPECT_TRUE(armed.ok()) << armed.error().message;
    recorder_ = *std::move(armed);
    return *recorder_;
  }
  std::string refusal() {
    auto armed = PtRecorder::arm(system_, *directory_, options_);
    return armed ? "" : armed.error().message;
  }
  void run_on(int32_t cpu, int32_t pid) {
    system_.write_record(cpu, PerfRecordBuilder(PERF_RECORD_SWITCH_CPU_WIDE)
                                  .u32(0)
                                  .u32(0)
                                  .with_id(pid, pid, system_.now, static_cast<uint32_t>(cpu)));
  }
  std::string packets_at(uint64_t tsc, size_t bytes = 100) { return psb_header(tsc) + std::string(bytes, 'p'); }
  Snapshot take(SnapshotWindow window = {}) {
    auto taken =
        recorder_->take(window, Trigger{.reason = "requested", .tsc = 0, .tid = -1, .trace_id = {}, .span_id = {}});
    EXPECT_TRUE(taken.ok()) << taken.error().message;
    cost_ = taken->cost;
    auto file = directory_->open_snapshot(taken->id);
    EXPECT_TRUE(file.ok()) << file.error().message;
    packets_.clear();
    for (const Stream& stream : file->snapshot().streams) packets_.push_back(read(*file, stream));
    return file->snapshot();
  }
  static std::string read(const SnapshotFile& file, const Stream& stream) {
    EXPECT_EQ(stream.pieces.size(), 1u);
    std::string bytes(stream.pieces[0].bytes, '\0');
    EXPECT_TRUE(file.read(stream.pieces[0].file_offset, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()}).ok());
    return bytes;
  }
  static const Image* image_named(const Snapshot& snapshot, const std::string& name) {
    const auto found = std::ranges::find(snapshot.images, name, &Image::name);
    return found == snapshot.images.end() ? nullptr : &*found;
  }
  static uint64_t loss(const Snapshot& snapshot, const std::string& name) {
    const auto found = std::ranges::find(snapshot.losses, name, &Loss::name);
    return found == snapshot.losses.end() ? 0 : found->count;
  }

  ScriptedPerf system_;
  std::string directory_path_;
  std::optional<SnapshotDirectory> directory_;
  PtOptions options_;
  std::unique_ptr<PtRecorder> recorder_;
  SnapshotCost cost_;
  std::vector<std::string> packets_;
};

TEST_F(PtRecorderTest, ASnapshotHasItsWindowAndWhoRan) {
  arm();
  run_on(0, 42);
  const uint64_t early = system_.now;
  system_.write_packets(0, packets_at(early));
  system_.now += 100'000;
  const uint64_t late = system_.now;
  system_.write_packets(0, packets_at(late));
  const Snapshot snapshot = take({.begin_tsc = late + 5, .cpu = -1});
  ASSERT_EQ(snapshot.streams.size(), 1u);
  EXPECT_EQ(snapshot.streams[0].cpu, 0);
  EXPECT_EQ(packets_[0], packets_at(late));
  EXPECT_EQ(snapshot.cpu, (Cpu{true, 6, 158, 9}));
  EXPECT_EQ(snapshot.timing.nom_freq, 36);
  EXPECT_EQ(snapshot.timing.mtc_freq, 3);
  EXPECT_EQ(snapshot.timing.conversion_mult, 1u << 31);
  EXPECT_EQ(snapshot.host, "scripted");
  // The one that ran is described, the other is not.
  const Image* shop = image_named(snapshot, "/usr/bin/shop");
  ASSERT_NE(shop, nullptr);
  EXPECT_EQ(shop->missing, "");
  EXPECT_EQ(shop->content, sha256("the image of shop"));
  EXPECT_EQ(image_named(snapshot, "/usr/bin/other"), nullptr);
  EXPECT_EQ(std::ranges::count(snapshot.sideband, SidebandKind::kMap, &Sideband::kind), 2);  // its stack is executable
}

TEST_F(PtRecorderTest, TheTriggersCpuIsStoppedFirst) {
  arm();
  const size_t before = system_.calls().size();
  take({.begin_tsc = 0, .cpu = 1});
  EXPECT_EQ(system_.calls()[before], "disable 8:1");
  EXPECT_EQ(system_.calls()[before + 1], "disable 8:0");
  EXPECT_EQ(system_.calls()[before + 2], "enable 8:0");
  EXPECT_EQ(cost_.cpus, 2u);
  EXPECT_GT(cost_.stop_nano, cost_.stop_first_nano);
}

TEST_F(PtRecorderTest, RecordingGoesOnBehindASnapshot) {
  arm();
  system_.write_packets(0, packets_at(system_.now));
  take();
  system_.write_packets(0, packets_at(system_.now, 70));
  take();
  EXPECT_EQ(packets_[0].size(), packets_at(0, 100).size() + packets_at(0, 70).size());
}

TEST_F(PtRecorderTest, ARingThatWentAroundHasItsNewest) {
  arm();
  for (int i = 0; i < 1000; ++i) system_.write_packets(0, packets_at(system_.now += 1000));
  const Snapshot snapshot = take();
  EXPECT_GT(packets_[0].size(), options_.aux_bytes - 200);
  EXPECT_EQ(packets_[0].substr(0, 16), psb_packet());
  EXPECT_GT(loss(snapshot, "CPUs whose ring did not reach back to the window's begin"), 0u);
}

TEST_F(PtRecorderTest, TheLimitOfBytesKeepsTheNewest) {
  options_.most_snapshot_bytes = 4096;
  arm();
  for (int i = 0; i < 100; ++i) {
    for (const int32_t cpu : {0, 1}) system_.write_packets(cpu, packets_at(system_.now += 1000));
  }
  take({.begin_tsc = 0, .cpu = 1});
  uint64_t bytes = 0;
  for (const std::string& one : packets_) bytes += one.size();
  EXPECT_LE(bytes, 4096u);
  EXPECT_GT(bytes, 3800u);
}

TEST_F(PtRecorderTest, MapsThatAppearHaveTheirFilesAlsoWhenTheyAreDeleted) {
  arm();
  run_on(0, 60);
  system_.put_file("/proc/60/root/tmp/plugin.so", "a plugin");
  struct stat about {};
  ASSERT_EQ(::stat(system_.path("/proc/60/root/tmp/plugin.so").c_str(), &about), 0);
  PerfRecordBuilder map(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
  map.u32(60).u32(60).u64(0x7000000).u64(0x1000).u64(0).u32(0).u32(0).u64(about.st_ino).u64(0);
  system_.write_record(0, map.u32(PROT_READ | PROT_EXEC).u32(0).text("/tmp/plugin.so").with_id(60, 60, system_.now, 0));
  ASSERT_TRUE(recorder_->drain().ok());
  system_.remove_file("/proc/60/root/tmp/plugin.so");
  const Snapshot snapshot = take();
  const Image* plugin = image_named(snapshot, "/tmp/plugin.so");
  ASSERT_NE(plugin, nullptr);
  EXPECT_EQ(plugin->content, sha256("a plugin"));
}

TEST_F(PtRecorderTest, AnImageThatWasTakenAwayIsCopiedAgain) {
  arm();
  run_on(0, 42);
  const Sha256 content = image_named(take(), "/usr/bin/shop")->content;
  std::filesystem::remove(directory_->image_path(content));
  run_on(0, 42);
  EXPECT_EQ(image_named(take(), "/usr/bin/shop")->content, content);
  EXPECT_TRUE(directory_->has_image(content));
  // Where its file is gone meanwhile, it is still known which one it was.
  std::filesystem::remove(directory_->image_path(content));
  system_.remove_file("/proc/42/root/usr/bin/shop");
  run_on(0, 42);
  const Snapshot last = take();
  EXPECT_EQ(image_named(last, "/usr/bin/shop")->content, content);
  EXPECT_EQ(image_named(last, "/usr/bin/shop")->missing, "");
}

TEST_F(PtRecorderTest, AFileThatWasReplacedIsMissing) {
  system_.put_file("/proc/42/maps", "00400000-00402000 r-xp 00001000 00:20 1  /usr/bin/shop\n");
  arm();
  run_on(0, 42);
  const Snapshot snapshot = take();
  ASSERT_NE(image_named(snapshot, "/usr/bin/shop"), nullptr);
  EXPECT_NE(image_named(snapshot, "/usr/bin/shop")->missing, "");
}

TEST_F(PtRecorderTest, LostRecordsMarkTheWindow) {
  arm();
  for (int i = 0; i < 2000; ++i) run_on(0, 42);
  ASSERT_TRUE(recorder_->drain().ok());
  run_on(0, 42);
  const Snapshot snapshot = take();
  EXPECT_GT(loss(snapshot, "records of perf lost by the kernel"), 1000u);
  EXPECT_EQ(std::ranges::count(snapshot.sideband, SidebandKind::kLost, &Sideband::kind), 1);
}

TEST_F(PtRecorderTest, TruncatedPacketsAreSaid) {
  arm();
  PerfRecordBuilder cut(PERF_RECORD_AUX);
  system_.write_record(1, cut.u64(0).u64(100).u64(PERF_AUX_FLAG_TRUNCATED).with_id(1, 1, system_.now, 1));
  const Snapshot snapshot = take();
  const auto row = std::ranges::find(snapshot.sideband, SidebandKind::kAuxLoss, &Sideband::kind);
  ASSERT_NE(row, snapshot.sideband.end());
  EXPECT_EQ(row->cpu, 1);
  EXPECT_EQ(row->flags, uint32_t{kFlagAuxTruncated});
}

TEST_F(PtRecorderTest, ACpuThatGoesOfflineIsSkippedAndCounted) {
  arm();
  system_.write_packets(0, packets_at(system_.now));
  system_.take_offline(1);
  const Snapshot snapshot = take({.begin_tsc = 0, .cpu = 1});
  EXPECT_EQ(cost_.cpus_offline, 1u);
  EXPECT_EQ(snapshot.streams.size(), 1u);
  EXPECT_EQ(loss(snapshot, "CPUs that were offline"), 1u);
}

TEST_F(PtRecorderTest, ACpuThatIsOfflineWhenArmingIsSkipped) {
  system_.refuse_open(ScriptedPerf::kPtType, 1, ENODEV);
  arm();
  EXPECT_EQ(recorder_->rings().size(), 1u);
  EXPECT_EQ(recorder_->cpus_offline(), 1u);
}

TEST_F(PtRecorderTest, RefusalsNameTheCure) {
  const std::pair<int, const char*> refusals[] = {{EACCES, "CAP_PERFMON"},      {EPERM, "perf_event_paranoid is 2"},
                                                  {EBUSY, "in use by another"}, {ENOSPC, "no room"},
                                                  {EINVAL, "settings"},         {EMFILE, "LimitNOFILE"}};
  for (const auto& [error, words] : refusals) {
    system_.refuse_open(ScriptedPerf::kPtType, -1, error);
    EXPECT_NE(refusal().find(words), std::string::npos) << refusal();
  }
  system_.refuse_open(ScriptedPerf::kPtType, -1, ENODEV);
  EXPECT_EQ(refusal(), "no CPU is online to be recorded");
}

TEST_F(PtRecorderTest, LockedMemoryIsNamed) {
  system_.refuse_map(EPERM);
  EXPECT_NE(refusal().find("perf_event_mlock_kb (now 516)"), std::string::npos) << refusal();
}

TEST_F(PtRecorderTest, NothingIsLeftOpen) {
  arm();
  EXPECT_EQ(system_.open_events(), 4u);
  recorder_.reset();
  EXPECT_EQ(system_.open_events(), 0u);
  system_.refuse_open(PERF_TYPE_SOFTWARE, 1, EMFILE);
  EXPECT_NE(refusal(), "");
  EXPECT_EQ(system_.open_events(), 0u);
}

TEST_F(PtRecorderTest, ThreadsOfAProcessShareTheRingOfACpu) {
  system_.put_file("/proc/42/task/43/comm", "worker\n");
  options_.pids = {42};
  options_.filters = {{0x1000, 0x100, "/usr/bin/shop"}};
  arm();
  EXPECT_EQ(system_.open_events(), 8u);  // two threads on two CPUs, each with its sideband
  uint64_t outputs = 0;
  for (const auto& event : system_.events()) {
    outputs += event->output >= 0 ? 1 : 0;
    EXPECT_EQ(event->attributes.inherit, 1);
    if (event->attributes.type == ScriptedPerf::kPtType) {
      EXPECT_EQ(event->filter, "filter 0x1000/0x100@/usr/bin/shop");
    }
  }
  EXPECT_EQ(outputs, 4u);
  const Snapshot snapshot = take();
  EXPECT_NE(image_named(snapshot, "/usr/bin/shop"), nullptr);  // whether it ran or not
  EXPECT_EQ(std::ranges::count(snapshot.sideband, address_filter_row("/usr/bin/shop", 0x1000, 0x100)), 1);
}

TEST_F(PtRecorderTest, TheKernelsCodeThatIsNotReadableIsAMissingImage) {
  options_.kernel = true;
  arm();
  const Snapshot snapshot = take();
  const Image* kernel = image_named(snapshot, "[kernel.kallsyms]");
  ASSERT_NE(kernel, nullptr);
  EXPECT_NE(kernel->missing.find("kallsyms"), std::string::npos);
}

TEST_F(PtRecorderTest, TheHistoryIsBounded) {
  options_.history_nano = 1'000'000;
  arm();
  for (int i = 0; i < 20000; ++i) {
    system_.now += 1000;
    run_on(i % 2, 42);
    if (i % 50 == 0) {
      ASSERT_TRUE(recorder_->drain().ok());
    }
  }
  const Snapshot snapshot = take();
  EXPECT_LT(snapshot.sideband.size(), 2000u);
  EXPECT_GT(snapshot.sideband.size(), 500u);
}

class SymbolTriggerTest : public PtRecorderTest {
 protected:
  void hit(int32_t cpu, int32_t tid) {
    PerfRecordBuilder sample(PERF_RECORD_SAMPLE);
    sample.u64(7).u32(42).u32(static_cast<uint32_t>(tid)).u64(system_.now).u32(static_cast<uint32_t>(cpu)).u32(0);
    system_.write_sample(cpu, sample.bare());
  }
};

TEST_F(SymbolTriggerTest, SaysWhoReachedTheSymbol) {
  arm();
  auto trigger = SymbolTrigger::arm(system_, *recorder_, {42}, 0x401000);
  ASSERT_TRUE(trigger.ok()) << trigger.error().message;
  EXPECT_FALSE(trigger->pauses_in_kernel());
  EXPECT_FALSE(trigger->fired().has_value());
  const uint64_t when = system_.now;
  hit(1, 42);
  const auto fired = trigger->fired();
  ASSERT_TRUE(fired.has_value());
  EXPECT_EQ(fired->tsc, when);
  EXPECT_EQ(fired->tid, 42);
  EXPECT_EQ(fired->cpu, 1);
  // Once: until it is armed again, nobody is woken.
  hit(0, 42);
  EXPECT_FALSE(trigger->fired().has_value());
  ASSERT_TRUE(trigger->rearm().ok());
  hit(0, 42);
  EXPECT_EQ(trigger->fired()->cpu, 0);
}

TEST_F(SymbolTriggerTest, PausesInTheKernelWhereItCan) {
  arm();
  auto trigger = SymbolTrigger::arm(system_, *recorder_, {}, 0xffffffff81000000);
  ASSERT_TRUE(trigger.ok());
  EXPECT_TRUE(trigger->pauses_in_kernel());
  const auto* breakpoint = system_.find(PERF_TYPE_BREAKPOINT, 0);
  EXPECT_EQ(breakpoint->attributes.__reserved_3, kAuxPause);
  EXPECT_EQ(breakpoint->group, recorder_->rings()[0].pt_event());
  EXPECT_EQ(breakpoint->attributes.exclude_user, 1);
  // Going on takes an event of its own, switched on and off again.
  const auto* resumer = system_.find(PERF_TYPE_SOFTWARE, 0, PERF_COUNT_SW_CPU_CLOCK);
  ASSERT_NE(resumer, nullptr);
  EXPECT_EQ(resumer->attributes.__reserved_3, kAuxResume);
  EXPECT_FALSE(resumer->enabled);
}

TEST_F(SymbolTriggerTest, NoFreeBreakpointIsSaid) {
  arm();
  system_.refuse_open(PERF_TYPE_BREAKPOINT, -1, ENOSPC);
  auto trigger = SymbolTrigger::arm(system_, *recorder_, {42}, 0x401000);
  ASSERT_FALSE(trigger.ok());
  EXPECT_NE(trigger.error().message.find("breakpoints"), std::string::npos);
}

}  // namespace
}  // namespace fathom::snapshot
