#include "snapshot/record/pt/doctor.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "snapshot/record/pt/known_decode.h"
#include "snapshot/record/pt/known_loop.h"
#include "snapshot/record/testing/known_packets.h"
#include "snapshot/record/testing/scripted_perf.h"

namespace fathom::snapshot {
namespace {

// Nothing runs: its packets are put where the processor would.
class ScriptedProgram final : public KnownProgram {
 public:
  ScriptedProgram(ScriptedPerf& system, std::string packets) : system_(system), packets_(std::move(packets)) {}
  Result<int32_t> start() override {
    system_.put_file("/proc/42/task/42/comm", "known\n");
    return 42;
  }
  Result<> run() override {
    system_.write_packets(1, packets_);
    return {};
  }

 private:
  ScriptedPerf& system_;
  std::string packets_;
};

class DoctorTest : public testing::Test {
 protected:
  PtReport check(const std::string& packets = KnownPackets(known_branches(kKnownRounds)).bytes()) {
    ScriptedProgram program(system_, packets);
    auto directory = SnapshotDirectory::open(system_.root() + "/snapshots");
    EXPECT_TRUE(directory.ok());
    return check_pt(system_, program, *directory);
  }
  void set_cpu(const std::string& vendor, const std::string& model, const std::string& flags) {
    system_.put_file("/proc/cpuinfo", "vendor_id\t: " + vendor + "\ncpu family\t: 6\nmodel\t\t: " + model +
                                          "\nmodel name\t: Some Processor\nstepping\t: 9\nflags\t\t: fpu " + flags +
                                          "\n");
    if (flags.find("intel_pt") == std::string::npos) system_.remove_file("/sys/bus/event_source/devices/intel_pt");
  }

  ScriptedPerf system_;
};

TEST(KnownLoop, ItsPathIsWhatItsBranchesSay) {
  EXPECT_EQ(known_path(1).size(), 1u + 6 + 1);
  EXPECT_EQ(known_path(2).size(), 1u + 5 + 6 + 1);
  EXPECT_EQ(known_branches(2), (std::vector<bool>{true, true, false, false}));
  for (const uint64_t address : known_path(3)) EXPECT_TRUE(known_code().holds(address));
  run_known_loop(5);
}

TEST(KnownLoop, IsDecodedAsItRan) {
  for (const uint32_t rounds : {1, 2, 7, 1000}) {
    const std::string packets = KnownPackets(known_branches(rounds)).bytes();
    const KnownDecoded decoded =
        decode_known({reinterpret_cast<const uint8_t*>(packets.data()), packets.size()}, {}, known_code());
    EXPECT_EQ(decoded.path, known_path(rounds)) << rounds;
    EXPECT_EQ(decoded.errors, 0u);
  }
}

TEST_F(DoctorTest, AHostThatWorks) {
  const PtReport report = check();
  EXPECT_TRUE(report.works) << report.says;
  EXPECT_EQ(report.cure, "");
  EXPECT_EQ(report.instructions, known_path(kKnownRounds).size());
  EXPECT_EQ(report_json(report).find("{\"works\":true,\"says\":\"snapshots"), 0u);
}

TEST_F(DoctorTest, WrongPacketsAreNoticed) {
  std::vector<bool> branches = known_branches(kKnownRounds);
  branches[500] = !branches[500];
  EXPECT_FALSE(check(KnownPackets(branches).bytes()).works);
}

TEST_F(DoctorTest, MissingPacketsAreNoticed) {
  const PtReport report = check("");
  EXPECT_FALSE(report.works);
  EXPECT_NE(report.says.find("no packets"), std::string::npos) << report.says;
}

TEST_F(DoctorTest, GarbageIsNoCrash) {
  EXPECT_FALSE(check(std::string(5000, '\x55')).works);
  const std::string good = KnownPackets(known_branches(kKnownRounds)).bytes();
  EXPECT_FALSE(check(good.substr(0, good.size() / 2)).works);
}

TEST_F(DoctorTest, TheProcessorIsNamed) {
  set_cpu("AuthenticAMD", "1", "");
  EXPECT_EQ(check().says, "this processor is not Intel's (Some Processor)");
  set_cpu("GenuineIntel", "45", "");
  EXPECT_EQ(check().says, "this processor has no Intel PT (Some Processor)");
}

TEST_F(DoctorTest, TheHypervisorIsNamed) {
  set_cpu("GenuineIntel", "143", "hypervisor");
  const PtReport report = check();
  EXPECT_NE(report.says.find("hypervisor"), std::string::npos);
  EXPECT_NE(report.cure.find("pt_mode=1"), std::string::npos);
}

TEST_F(DoctorTest, TheFirmwareIsNamed) {
  set_cpu("GenuineIntel", "143", "");
  EXPECT_NE(check().says.find("firmware"), std::string::npos);
}

TEST_F(DoctorTest, TheKernelIsNamed) {
  system_.remove_file("/sys/bus/event_source/devices/intel_pt");
  EXPECT_NE(check().says.find("the kernel did not take it"), std::string::npos);
  system_.remove_file("/proc/sys/kernel/perf_event_paranoid");
  EXPECT_EQ(check().says, "this kernel has no perf_event_open");
}

TEST_F(DoctorTest, PermissionsAreNamed) {
  system_.refuse_open(ScriptedPerf::kPtType, -1, EACCES);
  const PtReport report = check();
  EXPECT_NE(report.says.find("perf_event_paranoid is 2"), std::string::npos) << report.says;
  EXPECT_NE(report.cure.find("CAP_PERFMON"), std::string::npos) << report.cure;
}

TEST(ForkedProgram, WaitsRunsAndStays) {
  auto program = forked_known_program();
  auto pid = program->start();
  ASSERT_TRUE(pid.ok());
  EXPECT_GT(*pid, 0);
  EXPECT_TRUE(program->run().ok());
}

// On a host that has it, this is the proof; elsewhere, that the reason is told.
TEST(ThisHost, SaysWhetherItHasPt) {
  const PtReport report = check_pt_of_this_host();
  EXPECT_EQ(report.works, report.cure.empty());
  EXPECT_NE(report.says, "");
  if (!report.works) GTEST_SKIP() << report.says;
}

}  // namespace
}  // namespace fathom::snapshot
