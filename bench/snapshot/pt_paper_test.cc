// The paper's measurements on a processor that follows a script: the settings decide what it writes.
#include "bench/snapshot/pt_paper.h"

#include <gtest/gtest.h>

#include <optional>

#include "bench/snapshot/pt_steps.h"
#include "snapshot/record/pt/pt_config.h"
#include "snapshot/record/testing/pt_packets.h"
#include "snapshot/record/testing/scripted_perf.h"

namespace fathom::bench {
namespace {

using namespace fathom::snapshot;

constexpr int32_t kPid = 42;

// Takes as long as it is told; the tracer is what makes a turn slower.
class ScriptedWorkload final : public PtWorkload {
 public:
  ScriptedWorkload(ScriptedPerf& system, uint64_t bytes) : system_(system), bytes_(bytes) {}
  int32_t pid() const override { return kPid; }
  Result<double> run(uint64_t turns) override {
    const auto* event = system_.find(ScriptedPerf::kPtType, 0);
    const bool recorded = event != nullptr && event->open && event->enabled;
    if (recorded) write();
    return (recorded ? 1.2 : 1.0) * static_cast<double>(turns);
  }

 private:
  // 1,000 ns from one synchronisation point to the next.
  void write() {
    system_.write_packets(0, psb_header(1'000'000) + std::string(bytes_, '\0'));  // padding: recording is off
    system_.write_packets(0, psb_header(1'001'000));
  }
  ScriptedPerf& system_;
  uint64_t bytes_;
};

class PtPaper : public testing::Test {
 protected:
  void SetUp() override {
    directory_.emplace(*SnapshotDirectory::open(system_.root() + "/snapshots"));
    system_.put_file("/proc/42/task/42/comm", "workload\n");
    system_.put_file("/proc/42/maps", "");
  }
  PtHost host() { return {system_, *directory_}; }
  Result<std::unique_ptr<PtWorkload>> start(uint64_t bytes) {
    return std::unique_ptr<PtWorkload>(std::make_unique<ScriptedWorkload>(system_, bytes));
  }

  ScriptedPerf system_;
  std::optional<SnapshotDirectory> directory_;
};

TEST_F(PtPaper, SaysWhatRecordingCostsAndWrites) {
  ScriptedWorkload workload(system_, 960);
  const auto row = measure_overhead(host(), workload, 3, 3);
  ASSERT_TRUE(row.ok()) << row.error().message;
  EXPECT_NEAR(row->overhead_percent, 20, 0.001);
  EXPECT_NEAR(row->mb_per_s, 1000, 40);  // a kilobyte in a microsecond
  EXPECT_TRUE(directory_->list()->empty());
  EXPECT_EQ(system_.open_events(), 0u);
}

TEST_F(PtPaper, SweepsWhatTheProcessorOffersAndNothingElse) {
  const auto pmu = read_pt_pmu(system_);
  ASSERT_TRUE(pmu.ok());
  for (const char* name : {"cyc_thresh", "mtc_period", "psb_period"}) {
    const auto settings = sweep_settings(*pmu, name);
    EXPECT_GT(settings.size(), 1u) << name;
    for (const auto& [value, options] : settings) EXPECT_TRUE(make_pt_config(*pmu, options).ok()) << name << int{value};
  }
  for (const auto& [value, options] : sweep_settings(*pmu, "cyc_thresh")) EXPECT_EQ(options.mtc, false);
  for (const auto& [value, options] : sweep_settings(*pmu, "psb_period")) EXPECT_FALSE(options.cyc);
  system_.put_file("/sys/bus/event_source/devices/intel_pt/caps/mtc", "0\n");
  EXPECT_TRUE(sweep_settings(*read_pt_pmu(system_), "mtc_period").empty());
}

TEST_F(PtPaper, MeasuresEachPointOfASweep) {
  ScriptedWorkload workload(system_, 960);
  const auto sweeps = measure_sweeps(host(), workload, 1);
  ASSERT_TRUE(sweeps.ok()) << sweeps.error().message;
  ASSERT_EQ(sweeps->size(), 3u);
  for (const Sweep& sweep : *sweeps) {
    ASSERT_FALSE(sweep.points.empty()) << sweep.name;
    for (const SweepPoint& point : sweep.points) EXPECT_GT(point.packet_bytes, 960u);
  }
  EXPECT_TRUE(directory_->list()->empty());
}

TEST(PtWorkload, TakesTurnsOfAboutSoLong) {
  auto workload = start_workload("Epsilon");
  ASSERT_TRUE(workload.ok()) << workload.error().message;
  const auto turns = turns_of(**workload, 0.01);
  ASSERT_TRUE(turns.ok());
  EXPECT_GE(*turns, 1u);
  EXPECT_GT(*(*workload)->run(*turns), 0.0);
  EXPECT_FALSE(start_workload("NoSuchThing").ok());
}

TEST(Factors, LieBetweenTheFinestAndTheCoarsestOfAllFigures) {
  std::vector<Sweep> sweeps = {{"cyc_thresh", "", {{0, 3829, 14, 78, -1}, {1, 2000, 100, 200, -1}}},
                               {"psb_period", "", {{5, 819, 910'500, 2'500'000, -1}}}};
  place_factors(sweeps);
  EXPECT_EQ(sweeps[0].points[0].factor, 0);
  EXPECT_EQ(sweeps[1].points[0].factor, 100);
  const double p = 50.0 * 100, least = 7.0 * 39, most = 455'250.0 * 1'250'000;
  EXPECT_DOUBLE_EQ(sweeps[0].points[1].factor, 100 / (most - least) * (p - least));
}

TEST(Factors, AreNothingWhereAllIsTheSame) {
  std::vector<Sweep> sweeps = {{"psb_period", "", {{0, 1, 5, 5, -1}, {1, 1, 5, 5, -1}}}};
  place_factors(sweeps);
  EXPECT_EQ(sweeps[0].points[1].factor, 0);
}

TEST_F(PtPaper, FillsTheReportWhereThereIsPt) {
  Report report("snapshot", "a machine", "bench-snapshot");
  const auto started = [&](const std::string&) { return start(960); };
  const auto done = add_paper(report, host(), "", started, 1);
  ASSERT_TRUE(done.ok()) << done.error().message;
  const std::string table = report.table();
  for (const char* key : {"pt.tailfact_overhead_percent", "pt.epsilon_mb_per_s", "pt.table2_fileio_pt_percent",
                          "pt.cyc_thresh_0_bytes", "pt.psb_period_0_trf"}) {
    EXPECT_NE(table.find(key), std::string::npos) << key << "\n" << table;
  }
}

TEST_F(PtPaper, SaysOfEachTableAndFigureWhyItIsNotHere) {
  Report report("snapshot", "a machine", "bench-snapshot");
  const auto never = [](const std::string&) -> Result<std::unique_ptr<PtWorkload>> { return internal("started"); };
  ASSERT_TRUE(add_paper(report, host(), "the hypervisor does not show Intel PT", never, 1).ok());
  for (const char* what : {"table 1", "table 2", "figure 5", "figure 6", "figure 7"}) {
    const size_t at = report.table().find(std::string("not on this host: ") + what);
    ASSERT_NE(at, std::string::npos) << what;
    EXPECT_NE(report.table().find("the hypervisor does not show", at), std::string::npos);
  }
}

}  // namespace
}  // namespace fathom::bench
