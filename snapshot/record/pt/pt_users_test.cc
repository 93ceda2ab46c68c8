// Snapshots of one user on a node with two, by a system that follows a script: what is in the file, byte for byte.
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/format/testing/perf_record_builder.h"
#include "snapshot/record/pt/known_decode.h"
#include "snapshot/record/pt/pt_recorder.h"
#include "snapshot/record/testing/known_packets.h"
#include "snapshot/record/testing/pt_packets.h"
#include "snapshot/record/testing/scripted_perf.h"

namespace fathom::snapshot {
namespace {

constexpr uint32_t kShopUid = 1000;
constexpr uint32_t kSpyUid = 1001;
constexpr int32_t kShop = 42;
constexpr int32_t kSpied = 50;
constexpr uint64_t kApart = 1'000'000;  // far more than the margin

class PtUsersTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_.emplace(*SnapshotDirectory::open(system_.root() + "/snapshots"));
    options_.aux_bytes = 64 << 10;
    options_.sideband_bytes = 16 << 10;
    options_.aux_record_bytes = 4096;
    options_.most_snapshot_bytes = 1 << 20;
    options_.one_user = true;
    put_process(kShop, "shop", kShopUid);
    put_process(kSpied, "hushed", kSpyUid);
  }
  void put_process(int32_t pid, const std::string& name, uint32_t uid) {
    const std::string process = "/proc/" + std::to_string(pid);
    system_.put_file(process + "/task/" + std::to_string(pid) + "/comm", name + "\n");
    system_.set_owner(pid, uid);
    put_library(pid, name);
    system_.put_file(process + "/maps", "00400000-00402000 r-xp 00001000 00:20 " + std::to_string(inode_of(pid, name)) +
                                            "  /usr/bin/" + name + "\n");
  }
  void put_library(int32_t pid, const std::string& name) {
    system_.put_file(file_of(pid, name), "the image of " + name);
    set_mode(pid, name, 0755);
  }
  static std::string file_of(int32_t pid, const std::string& name) {
    return "/proc/" + std::to_string(pid) + "/root" + "/usr/bin/" + name;
  }
  void set_mode(int32_t pid, const std::string& name, mode_t mode) {
    ASSERT_EQ(::chmod(system_.path(file_of(pid, name)).c_str(), mode), 0);
  }
  uint64_t inode_of(int32_t pid, const std::string& name) const {
    struct stat about {};
    EXPECT_EQ(::stat(system_.path(file_of(pid, name)).c_str(), &about), 0);
    return about.st_ino;
  }
  void arm() {
    auto armed = PtRecorder::arm(system_, *directory_, options_);
    ASSERT_TRUE(armed.ok()) << armed.error().message;
    recorder_ = *std::move(armed);
  }
  // `pid` runs on CPU 0 from now on, and this is written meanwhile.
  void run(int32_t pid, const std::string& packets, uint64_t apart = kApart) {
    system_.now += apart;
    PerfRecordBuilder record(PERF_RECORD_SWITCH_CPU_WIDE);
    record.u32(static_cast<uint32_t>(running_)).u32(static_cast<uint32_t>(running_));
    system_.write_record(0, record.with_id(pid, pid, system_.now, 0));
    running_ = pid;
    system_.now += apart;
    system_.write_packets(0, packets);
    system_.now += apart;
    system_.write_packets(0, psb_header(system_.now));
  }
  std::string packets(std::string_view text) { return psb_header(system_.now + 2 * kApart) + std::string(text); }
  void map(int32_t pid, const std::string& name) {
    put_library(pid, name);
    const auto number = static_cast<uint32_t>(pid);
    PerfRecordBuilder record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
    record.u32(number).u32(number).u64(0x7000000).u64(0x1000).u64(0).u32(0).u32(0).u64(inode_of(pid, name)).u64(0);
    record.u32(PROT_READ | PROT_EXEC).u32(0).text("/usr/bin/" + name);
    system_.write_record(0, record.with_id(pid, pid, system_.now, 0));
  }
  void rename(int32_t pid, const std::string& name) {
    const auto number = static_cast<uint32_t>(pid);
    PerfRecordBuilder record(PERF_RECORD_COMM);
    system_.write_record(0, record.u32(number).u32(number).text(name).with_id(pid, pid, system_.now, 0));
  }
  void take(std::optional<uint32_t> uid = kShopUid) {
    auto taken = recorder_->take({.uid = uid}, Trigger{.reason = "overdue", .tid = kShop});
    ASSERT_TRUE(taken.ok()) << taken.error().message;
    cost_ = taken->cost;
    auto file = directory_->open_snapshot(taken->id);
    ASSERT_TRUE(file.ok()) << file.error().message;
    snapshot_ = file->snapshot();
    std::ifstream whole(directory_->snapshot_path(taken->id), std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(whole), {});
  }
  bool has(std::string_view text) const { return bytes_.find(text) != std::string::npos; }
  const Image* image_named(const std::string& name) const {
    const auto found = std::ranges::find(snapshot_.images, "/usr/bin/" + name, &Image::name);
    return found == snapshot_.images.end() ? nullptr : &*found;
  }
  uint64_t loss(const std::string& begin) const {
    for (const Loss& one : snapshot_.losses) {
      if (one.name.starts_with(begin)) return one.count;
    }
    return 0;
  }

  ScriptedPerf system_;
  std::optional<SnapshotDirectory> directory_;
  PtOptions options_;
  std::unique_ptr<PtRecorder> recorder_;
  int32_t running_ = 0;
  SnapshotCost cost_;
  Snapshot snapshot_;
  std::string bytes_;
};

TEST_F(PtUsersTest, NothingOfAnotherUserIsInTheFile) {
  arm();
  run(kShop, packets("first of the shop"));
  run(kSpied, packets("what nobody may see"));
  map(kSpied, "hushed-plugin");
  rename(kSpied, "hushed-name");
  run(kShop, packets("second of the shop"));
  map(kShop, "shop-plugin");
  rename(kShop, "shop-name");
  take();
  for (const char* text : {"first of the shop", "second of the shop", "/usr/bin/shop", "shop-plugin", "shop-name",
                           "the programs of user 1000"})
    EXPECT_TRUE(has(text)) << text;
  for (const char* text : {"what nobody may see", "hushed"}) EXPECT_FALSE(has(text)) << text;
  EXPECT_TRUE(directory_->has_image(sha256("the image of shop")));
  EXPECT_TRUE(directory_->has_image(sha256("the image of shop-plugin")));
  EXPECT_FALSE(directory_->has_image(sha256("the image of hushed")));
  EXPECT_FALSE(directory_->has_image(sha256("the image of hushed-plugin")));
  for (const Sideband& row : snapshot_.sideband) {
    for (const int32_t number : {row.pid, row.tid, row.other_pid, row.other_tid}) EXPECT_NE(number, kSpied);
  }
  // What is left out is a hole for a decoder, and told.
  ASSERT_EQ(snapshot_.streams.size(), 1u);
  ASSERT_EQ(snapshot_.streams[0].pieces.size(), 2u);
  EXPECT_GT(snapshot_.streams[0].pieces[1].offset, snapshot_.streams[0].pieces[0].bytes);
  EXPECT_EQ(cost_.packet_bytes, snapshot_.streams[0].packet_bytes());
  EXPECT_GT(loss("bytes of packets left out while another user's"), 0u);
  EXPECT_EQ(loss("bytes of packets left out while another user's") + loss("bytes of packets left out while an unknown"),
            cost_.left_out_bytes);
  EXPECT_EQ(loss("rows about processes of other users"), 4u);  // two names, two maps
}

TEST_F(PtUsersTest, TheOtherUserSeesTheOther) {
  arm();
  run(kShop, packets("of the shop"));
  run(kSpied, packets("of the other"));
  take(kSpyUid);
  EXPECT_FALSE(has("of the shop"));
  EXPECT_TRUE(has("of the other"));
  EXPECT_TRUE(has("hushed"));
}

TEST_F(PtUsersTest, AllUsersAreInASnapshotThatIsForAll) {
  options_.one_user = false;
  arm();
  run(kShop, packets("of the shop"));
  run(kSpied, packets("of the other"));
  take(std::nullopt);
  for (const char* text : {"of the shop", "of the other", "hushed", "the whole node"}) EXPECT_TRUE(has(text)) << text;
  EXPECT_EQ(loss("bytes of packets left out") + loss("rows about"), 0u);
  EXPECT_EQ(cost_.left_out_bytes, 0u);
}

TEST_F(PtUsersTest, OwnPacketsDecodeAsBefore) {
  constexpr uint32_t kRounds = 50;
  arm();
  for (const int32_t pid : {kShop, kSpied, kShop}) {
    const uint64_t tsc = system_.now + 2 * kApart;
    run(pid, pid == kShop ? KnownPackets(known_branches(kRounds), tsc).bytes() : packets(std::string(100, '\x05')));
  }
  take();
  ASSERT_EQ(snapshot_.streams.size(), 1u);
  std::vector<uint64_t> path;
  for (const Stream::Piece& piece : snapshot_.streams[0].pieces) {
    const std::string_view bytes = std::string_view(bytes_).substr(piece.file_offset, piece.bytes);
    const KnownDecoded decoded =
        decode_known({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, snapshot_, known_code());
    path.insert(path.end(), decoded.path.begin(), decoded.path.end());
  }
  std::vector<uint64_t> expected = known_path(kRounds);
  const std::vector<uint64_t> once = expected;
  expected.insert(expected.end(), once.begin(), once.end());
  EXPECT_EQ(path, expected);
}

TEST_F(PtUsersTest, WithoutAUserNothingIsTaken) {
  arm();
  auto taken = recorder_->take({}, {});
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, ErrorCode::kInvalid);
  // Recording goes on.
  run(kShop, packets("of the shop"));
  take();
  EXPECT_TRUE(has("of the shop"));
}

TEST_F(PtUsersTest, AroundLostSwitchesNothingRemains) {
  arm();
  run(kShop, packets("before the loss"));
  run(kShop, packets("while rows are lost"));
  while (system_.find(PERF_TYPE_SOFTWARE, 0, PERF_COUNT_SW_DUMMY)->lost == 0) rename(kShop, "shop");
  run(kSpied, packets("of the other"));  // nobody tells
  ASSERT_TRUE(recorder_->drain().ok());
  running_ = kShop;
  run(kShop, packets("behind the loss"));
  run(kShop, packets("behind the next switch"));
  take();
  for (const char* text : {"while rows are lost", "of the other"}) EXPECT_FALSE(has(text)) << text;
  for (const char* text : {"before the loss", "behind the loss", "behind the next switch"})
    EXPECT_TRUE(has(text)) << text;
  EXPECT_GT(loss("records of perf lost"), 0u);
}

TEST_F(PtUsersTest, ALossThatIsNotYetReportedCountsToo) {
  arm();
  run(kShop, packets("of the shop"));
  while (system_.find(PERF_TYPE_SOFTWARE, 0, PERF_COUNT_SW_DUMMY)->lost == 0) rename(kShop, "shop");
  run(kSpied, packets("of the other"));
  take();
  EXPECT_FALSE(has("of the other"));
  EXPECT_FALSE(has("of the shop"));
  EXPECT_EQ(std::ranges::count(snapshot_.sideband, SidebandKind::kLost, &Sideband::kind), 0);
}

TEST_F(PtUsersTest, UnknownProcessesAreAnothers) {
  put_process(60, "set-user-id", kShopUid);
  system_.set_owner(60, kShopUid, 0);
  arm();
  run(kShop, packets("of the shop"));
  run(99, packets("of a process that is gone"));
  run(60, packets("of a program with set-user-ID"));
  run(kShop, packets("again of the shop"));
  take();
  for (const char* text : {"of the shop", "again of the shop"}) EXPECT_TRUE(has(text)) << text;
  for (const char* text : {"of a process that is gone", "of a program with set-user-ID", "set-user-id"})
    EXPECT_FALSE(has(text)) << text;
}

TEST_F(PtUsersTest, AProcessThatChangedItsUserIsAnothers) {
  arm();
  run(kShop, packets("of the shop"));
  run(0, "");
  system_.set_owner(kShop, kSpyUid);
  take();
  EXPECT_FALSE(has("of the shop"));
  EXPECT_FALSE(has("/usr/bin/shop"));
}

TEST_F(PtUsersTest, KernelThreadsAndIdleProcessorsHideNothing) {
  system_.set_owner(70, 0);
  system_.put_file("/proc/70/stat", "70 (kworker/0:1) I 2 0 0 0 -1 69238880 0 0\n");
  arm();
  run(kShop, packets("first of the shop"));
  run(70, "");
  run(0, "");
  run(kShop, packets("second of the shop"));
  take();
  ASSERT_EQ(snapshot_.streams.size(), 1u);
  EXPECT_EQ(snapshot_.streams[0].pieces.size(), 1u);
  EXPECT_EQ(loss("bytes of packets left out"), 0u);
  EXPECT_FALSE(has("kworker"));
}

TEST_F(PtUsersTest, WhatTheStateTellsIsAsGoodAsRows) {
  options_.history_nano = 100 * kApart;
  arm();
  run(kSpied, packets("of the other"));
  system_.now += 200 * kApart;
  system_.write_packets(0, psb_header(system_.now) + "also of the other");
  ASSERT_TRUE(recorder_->drain().ok());  // its switch is state now
  system_.now += kApart;
  run(kShop, packets("of the shop"));
  take();
  EXPECT_FALSE(has("also of the other"));
  EXPECT_TRUE(has("of the shop"));
}

TEST_F(PtUsersTest, FilesThatNotEverybodyMayReadAreNotCopied) {
  set_mode(kShop, "shop", 0750);
  for (const ImageRule rule : {ImageRule::kReadable, ImageRule::kReachable, ImageRule::kAll}) {
    options_.images = rule;
    arm();
    run(kShop, packets("of the shop"));
    take();
    ASSERT_NE(image_named("shop"), nullptr);
    const bool is_copied = rule == ImageRule::kAll;
    EXPECT_EQ(image_named("shop")->missing, is_copied ? "" : kPrivateImage);
    EXPECT_EQ(image_named("shop")->content.is_zero(), !is_copied);
    EXPECT_EQ(directory_->has_image(sha256("the image of shop")), is_copied);
  }
}

TEST_F(PtUsersTest, NeitherAreFilesInDirectoriesThatNotEverybodyMayEnter) {
  const std::string above = system_.path(file_of(kShop, ".."));
  ASSERT_EQ(::chmod(above.c_str(), 0750), 0);
  for (const ImageRule rule : {ImageRule::kReachable, ImageRule::kReadable}) {
    options_.images = rule;
    arm();
    run(kShop, packets("of the shop"));
    take();
    ASSERT_NE(image_named("shop"), nullptr);
    EXPECT_EQ(image_named("shop")->missing, rule == ImageRule::kReadable ? "" : kPrivateImage);
  }
  ASSERT_EQ(::chmod(above.c_str(), 0755), 0);
}

}  // namespace
}  // namespace fathom::snapshot
