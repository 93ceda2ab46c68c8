// Which engine runs a command, and what is said of it: with a processor that follows a script.
#include "apps/recorder/by_pt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "snapshot/record/testing/scripted_perf.h"

namespace fathom {
namespace {

class ByPtTest : public testing::Test {
 protected:
  ByPtTest() {
    system_.use_real_processes();
    options_.engine = "auto";
    options_.directory = system_.root() + "/snapshots";
    options_.json_file = system_.root() + "/report.json";
    options_.limits.windows = 1;
  }
  ~ByPtTest() override { ::unsetenv("FATHOM_PTWRITE"); }
  std::optional<int> record(const std::string& shell) {
    options_.command = {"/bin/sh", "-c", shell};
    testing::internal::CaptureStderr();
    const auto status = record_by_pt(options_, *ReportFile::open(options_), system_);
    said_ = testing::internal::GetCapturedStderr();
    return status;
  }
  std::string report() const {
    std::ifstream file(options_.json_file);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  snapshot::ScriptedPerf system_;
  RecorderOptions options_;
  std::string said_;
};

TEST_F(ByPtTest, AutoTakesItAndSaysSo) {
  EXPECT_EQ(record("exit 7"), 7);
  EXPECT_NE(said_.find("engine pt: this processor has Intel PT"), std::string::npos) << said_;
  EXPECT_NE(said_.find("fathom snapshot calls"), std::string::npos) << said_;
  EXPECT_EQ(report().find("{\"snapshot_id\":\""), 0U) << report();
}

TEST_F(ByPtTest, WhereItCannotBeArmedAutoStepsAndTheCommandHasNotRun) {
  system_.refuse_open(snapshot::ScriptedPerf::kPtType, -1, EACCES);
  const std::string mark = system_.root() + "/ran";
  EXPECT_EQ(record("touch " + mark), std::nullopt);
  EXPECT_NE(said_.find("engine step: "), std::string::npos) << said_;
  EXPECT_NE(said_.find("CAP_PERFMON"), std::string::npos) << said_;
  options_.engine = "pt";
  EXPECT_EQ(record("touch " + mark), 5);
  EXPECT_NE(said_.find("--engine step works anywhere"), std::string::npos) << said_;
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST_F(ByPtTest, CtrlCKeepsWhatWasRecordedAndLeavesTheCommandAlone) {
  EXPECT_EQ(record("kill -INT $PPID; sleep 0.2; exit 7"), 7);
  EXPECT_NE(said_.find("; snapshot "), std::string::npos) << said_;
  struct sigaction now {};
  ::sigaction(SIGINT, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST_F(ByPtTest, WhatNeverCameIsSaid) {
  options_.span = "checkout";
  const auto status = record("exit 7");
  if (said_.find("ptrace is forbidden") != std::string::npos) GTEST_SKIP() << said_;
  EXPECT_EQ(status, 7);
  EXPECT_NE(said_.find("nothing was recorded: no span 'checkout' was open"), std::string::npos) << said_;
  EXPECT_EQ(report().find("{\"snapshot_id\":null"), 0U) << report();
}

}  // namespace
}  // namespace fathom
