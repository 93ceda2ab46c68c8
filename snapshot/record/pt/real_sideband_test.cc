// The history of processes from the kernel itself, with a software event in the place of Intel PT.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/testing/temp_directory.h"
#include "snapshot/record/pt/pt_command.h"
#include "snapshot/record/pt/pt_recorder.h"
#include "snapshot/record/pt/stand_in_perf.h"

namespace fathom::snapshot {
namespace {

class RealSidebandTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(root_ + "/pmu");
    auto system = stand_in_perf_system(root_ + "/pmu");
    ASSERT_TRUE(system.ok()) << system.error().message;
    system_ = *std::move(system);
    directory_.emplace(*SnapshotDirectory::open(root_ + "/snapshots"));
    options_.aux_bytes = options_.aux_record_bytes = 4096;
    options_.most_snapshot_bytes = 1 << 20;
    options_.sideband_bytes = 1 << 20;
  }

  // A program of its own, so that nobody else has its image.
  std::string own_program() {
    const std::string path = root_ + "/own-program";
    std::filesystem::copy_file("/bin/sleep", path, std::filesystem::copy_options::overwrite_existing);
    return path;
  }
  static pid_t spawn(const std::string& path, const char* argument) {
    const char* words[] = {path.c_str(), argument, nullptr};
    pid_t pid = -1;
    EXPECT_EQ(::posix_spawn(&pid, path.c_str(), nullptr, nullptr, const_cast<char**>(words), environ), 0);
    return pid;
  }
  static void wait_for(pid_t pid) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  static bool has_row(const Snapshot& snapshot, SidebandKind kind, int32_t pid) {
    return std::ranges::any_of(snapshot.sideband,
                               [&](const Sideband& row) { return row.kind == kind && row.pid == pid; });
  }
  static const Image* image_of(const Snapshot& snapshot, int32_t pid, const std::string& name) {
    for (const Sideband& row : snapshot.sideband) {
      if (row.kind != SidebandKind::kMap || row.pid != pid || row.image == kNoImage) continue;
      if (snapshot.images[row.image].name.starts_with(name)) return &snapshot.images[row.image];
    }
    return nullptr;
  }
  static std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  Result<PtCommandOutcome> record(const std::vector<std::string>& command) {
    PtFromStart trigger;
    PtCommandRequest request;
    request.command = command;
    request.options = options_;
    request.options.history_nano = kNanosPerHour;
    return record_pt_command(*system_, *directory_, trigger, std::move(request));
  }

  TempDirectory scratch_;
  const std::string root_ = scratch_.path();
  std::unique_ptr<PerfSystem> system_;
  std::optional<SnapshotDirectory> directory_;
  PtOptions options_;
};

TEST_F(RealSidebandTest, AProcessThatCameAndWentIsDescribed) {
  // This process and its children: others are busy with who knows what, and their images are large.
  options_.pids = {::getpid()};
  auto recorder = PtRecorder::arm(*system_, *directory_, options_);
  if (!recorder) GTEST_SKIP() << recorder.error().message;
  const std::string program = own_program();
  const std::string content = content_of(program);
  const pid_t pid = spawn(program, "0.2");
  // Its map is seen while it lives, and the file goes before anybody asks for it.
  const uint64_t until = system_->monotonic_nano() + 150'000'000;
  while (system_->monotonic_nano() < until) ASSERT_TRUE((*recorder)->drain().ok());
  wait_for(pid);
  std::filesystem::remove(program);
  auto taken = (*recorder)->take({}, {});
  ASSERT_TRUE(taken.ok()) << taken.error().message;
  const auto file = directory_->open_snapshot(taken->id);
  ASSERT_TRUE(file.ok());
  const Snapshot& snapshot = file->snapshot();
  EXPECT_NE(snapshot.timing.conversion_mult, 0u);
  for (const SidebandKind kind : {SidebandKind::kFork, SidebandKind::kName, SidebandKind::kSwitchIn,
                                  SidebandKind::kSwitchOut, SidebandKind::kExit})
    EXPECT_TRUE(has_row(snapshot, kind, pid)) << static_cast<int>(kind);
  const Image* image = image_of(snapshot, pid, program);
  ASSERT_NE(image, nullptr);
  if (image->missing.empty()) {
    EXPECT_EQ(image->content, sha256(content));
  }
  const Image* vdso = image_of(snapshot, pid, "[vdso]");
  ASSERT_NE(vdso, nullptr);
  EXPECT_EQ(vdso->missing, "");
  // Rows are of now: their clock is the one of the recorder.
  for (const Sideband& row : snapshot.sideband) ASSERT_LE(row.tsc, system_->tsc());
}

TEST_F(RealSidebandTest, ACommandIsRecordedFromItsBeginning) {
  const std::string program = own_program();
  auto outcome = record({program, "0.05"});
  if (!outcome && outcome.error().code == ErrorCode::kUnsupported) GTEST_SKIP() << outcome.error().message;
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->wait_status, 0);
  const auto file = directory_->open_snapshot(outcome->taken.at(0).id);
  ASSERT_TRUE(file.ok());
  const Snapshot& snapshot = file->snapshot();
  EXPECT_EQ(snapshot.command, program + " 0.05");
  const auto exec = std::ranges::find_if(snapshot.sideband, [](const Sideband& row) {
    return row.kind == SidebandKind::kName && (row.flags & kFlagExec) != 0;
  });
  ASSERT_NE(exec, snapshot.sideband.end());
  EXPECT_EQ(exec->text, "own-program");
  ASSERT_NE(image_of(snapshot, exec->pid, program), nullptr);
}

TEST_F(RealSidebandTest, ACommandThatIsNotThereIsSaid) {
  auto outcome = record({"/nowhere/at-all"});
  ASSERT_FALSE(outcome.ok());
  if (outcome.error().code == ErrorCode::kUnsupported) GTEST_SKIP() << outcome.error().message;
  EXPECT_EQ(outcome.error().message, "cannot start /nowhere/at-all: No such file or directory");
}

}  // namespace
}  // namespace fathom::snapshot
