#include "apps/recorder/report.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

snapshot::step::StepOutcome sample() {
  snapshot::step::StepOutcome outcome;
  outcome.id = snapshot::SnapshotId::from_bytes("0123456789abcdef");
  outcome.instructions = 1'234'567;
  outcome.threads = 1;
  outcome.windows = 2;
  outcome.gaps = 1;
  outcome.slowdown = 51'234.5;
  return outcome;
}

TEST(RecorderReport, TellsWhatWasRecordedAndWhatToDoNext) {
  RecorderOptions options;
  options.directory = "/snaps";
  options.function = "checkout";
  const std::string text = report_text(options, sample());
  EXPECT_NE(text.find("recorded 1,234,567 instructions of 1 thread in 2 calls of checkout by stepping, 51,000 times "
                      "slower"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("1 gap:"), std::string::npos);
  EXPECT_NE(text.find("fathom snapshot calls 30313233"), std::string::npos);
  EXPECT_EQ(text.find("--steps"), std::string::npos);
}

TEST(RecorderReport, LeadsToTheHolderOfTheLock) {
  snapshot::step::StepOutcome outcome = sample();
  outcome.locks = {{42, "shop", "mutex", 16, {7}}};
  const std::string text = report_text({}, outcome);
  EXPECT_NE(text.find("thread 42 (shop) holds a mutex that thread 7 waits for"), std::string::npos) << text;
  EXPECT_NE(text.find("fathom snapshot calls 30313233 --tid 42 "), std::string::npos) << text;
  EXPECT_NE(report_json(outcome).find("\"lock_holder\":42"), std::string::npos);
}

TEST(RecorderReport, SaysWhyThereIsNothing) {
  snapshot::step::StepOutcome outcome;
  outcome.fault = "checkout was never called";
  EXPECT_NE(report_text({}, outcome).find("checkout was never called"), std::string::npos);
  EXPECT_TRUE(report_json(outcome).starts_with("{\"snapshot_id\":null,\"engine\":\"step\","));
}

TEST(RecorderReport, OneLineOfJson) {
  const std::string json = report_json(sample());
  EXPECT_EQ(json.find('\n'), json.size() - 1);
  EXPECT_NE(json.find("\"snapshot_id\":\"30313233343536373839616263646566\""), std::string::npos);
  EXPECT_NE(json.find("\"instructions\":1234567"), std::string::npos);
  EXPECT_NE(json.find("\"reached_limit\":false"), std::string::npos);
}

TEST(RecorderReport, EachWindowOfIntelPtIsASnapshot) {
  snapshot::TakenSnapshot taken;
  taken.id = *snapshot::SnapshotId::from_bytes("0123456789abcdef");
  taken.cost.packet_bytes = 4096;
  taken.cost.cpus_cut_short = 2;
  const std::string text = pt_taken_text(taken);
  EXPECT_NE(text.find("engine pt: recorded 4,096 bytes of packets"), std::string::npos) << text;
  EXPECT_NE(text.find("2 CPUs did not reach back"), std::string::npos) << text;
  EXPECT_NE(text.find("fathom snapshot calls 30313233"), std::string::npos) << text;
  const std::string id = taken.id.hex();
  EXPECT_EQ(pt_report_json({taken, taken}),
            "{\"snapshot_id\":\"" + id + "\",\"engine\":\"pt\",\"snapshot_ids\":[\"" + id + "\",\"" + id + "\"]}\n");
  EXPECT_EQ(pt_report_json({}), "{\"snapshot_id\":null,\"engine\":\"pt\",\"snapshot_ids\":[]}\n");
}

}  // namespace
}  // namespace fathom
