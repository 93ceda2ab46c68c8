#include "apps/recorder/report.h"

#include <gtest/gtest.h>

#include <fstream>

#include "apps/recorder/push.h"

namespace fathom {
namespace {

snapshot::step::StepOutcome sample() {
  snapshot::step::StepOutcome outcome;
  outcome.id = snapshot::SnapshotId::from_bytes("0123456789abcdef");
  outcome.instructions = 1'234'567;
  outcome.threads = 1;
  outcome.windows = 1;
  outcome.calls = 2;
  outcome.cut_off = 1;
  outcome.gaps = 1;
  outcome.slowdown = 51'234.5;
  return outcome;
}

TEST(RecorderReport, TellsWhatWasRecordedAndWhatToDoNext) {
  RecorderOptions options;
  options.directory = "/snaps";
  options.function = "checkout";
  const std::string text = report_text(options, sample());
  EXPECT_NE(text.find("recorded 1,234,567 instructions of 1 thread in 2 calls of checkout by stepping, 51,200 times "
                      "slower"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("1 call was still running when recording ended"), std::string::npos) << text;
  EXPECT_NE(text.find("1 gap:"), std::string::npos);
  EXPECT_NE(text.find("fathom snapshot calls 30313233"), std::string::npos);
  EXPECT_EQ(text.find("--steps"), std::string::npos);
}

TEST(RecorderReport, LeadsToTheHolderOfTheLock) {
  snapshot::step::StepOutcome outcome = sample();
  outcome.locks = {{42, "shop", "mutex", 16, {7}}};
  const std::string text = report_text({}, outcome);
  EXPECT_NE(text.find("thread 42 (shop) holds a mutex that thread 7 waits for (--tid 42 shows it)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("fathom snapshot calls 30313233 --tid 42 "), std::string::npos) << text;
  EXPECT_NE(report_json(outcome).find("\"lock_holder\":42"), std::string::npos);
}

TEST(RecorderReport, LeadsPastAHolderThatWaitsItself) {
  snapshot::step::StepOutcome outcome = sample();
  outcome.locks = {{42, "shop", "mutex", 16, {7}, {{{51, "log", "mutex", 32}}, "fsync"}}};
  const std::string text = report_text({}, outcome);
  EXPECT_NE(
      text.find("thread 42 (shop) holds a mutex that thread 7 waits for, and waits itself for a mutex that thread "
                "51 (log) holds, which is in fsync (--tid 51 shows it)"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("fathom snapshot calls 30313233 --tid 51 "), std::string::npos) << text;
  EXPECT_NE(report_json(outcome).find("\"lock_holder\":42,\"blocking_thread\":51}"), std::string::npos)
      << report_json(outcome);
  outcome.locks[0].chain.is_deadlock = true;
  EXPECT_NE(report_json(outcome).find("\"deadlock\":true"), std::string::npos);
}

TEST(RecorderReport, TellsWhatKilledTheProgram) {
  snapshot::step::StepOutcome outcome = sample();
  outcome.death = {11, 42, "bad(int*)+0x4"};
  const std::string text = report_text({}, outcome);
  EXPECT_NE(text.find("thread 42 was killed by SIGSEGV at bad(int*)+0x4"), std::string::npos) << text;
  EXPECT_NE(report_json(outcome).find(R"("killed":{"signal":"SIGSEGV","tid":42,"place":"bad(int*)+0x4"})"),
            std::string::npos);
}

TEST(RecorderReport, SaysAtOnceWhichCodeWillBeMissing) {
  snapshot::step::StepOutcome outcome = sample();
  EXPECT_EQ(report_text({}, outcome).find("not kept"), std::string::npos);
  EXPECT_NE(report_json(outcome).find("\"images_not_kept\":0"), std::string::npos);
  outcome.images = {7, 3, "No space left on device"};
  EXPECT_NE(report_text({}, outcome)
                .find("fathom record: 3 of 7 images are not kept: No space left on device; what runs in them will be "
                      "gaps\n"),
            std::string::npos)
      << report_text({}, outcome);
  EXPECT_NE(
      report_json(outcome).find(R"("images":7,"images_not_kept":3,"images_not_kept_why":"No space left on device")"),
      std::string::npos)
      << report_json(outcome);
}

TEST(RecorderReport, TheNextCommandFindsTheDirectory) {
  RecorderOptions options;
  options.directory = "/a b";
  EXPECT_NE(report_text(options, sample()).find("calls 30313233   #"), std::string::npos);
  options.directory_words = " --directory '/a b'";
  EXPECT_NE(report_text(options, sample()).find("calls 30313233 --directory '/a b'   #"), std::string::npos);
  snapshot::TakenSnapshot taken;
  EXPECT_NE(pt_taken_text(options, taken).find("calls 00000000 --directory '/a b'   #"), std::string::npos);
}

TEST(RecorderReport, SaysThatTheProgramItselfWasNotReached) {
  snapshot::step::StepOutcome outcome = sample();
  EXPECT_EQ(report_text({}, outcome).find("main()"), std::string::npos);
  outcome.reached_limit = true;
  outcome.reached_main = false;
  EXPECT_NE(report_text({}, outcome).find("main() was not reached"), std::string::npos);
  EXPECT_NE(report_text({}, outcome).find("without --from start recording begins behind it"), std::string::npos);
  EXPECT_NE(report_json(outcome).find("\"reached_main\":false"), std::string::npos);
}

TEST(RecorderReport, SaysWhyThereIsNothing) {
  snapshot::step::StepOutcome outcome;
  outcome.fault = "checkout was never called";
  EXPECT_NE(report_text({}, outcome).find("checkout was never called"), std::string::npos);
  EXPECT_TRUE(report_json(outcome).starts_with("{\"snapshot_id\":null,\"engine\":\"step\","));
}

TEST(RecorderReport, HintsAtTheEnvironmentWhereTheLinkerMayHaveFailed) {
  constexpr int kLinkerFailed = 127 << 8, kFailed = 1 << 8, kSignal = 127;  // wait statuses
  snapshot::step::StepOutcome nothing;
  nothing.started = true;
  const std::string hint = binding_hint(true, nothing, kLinkerFailed);
  EXPECT_NE(hint.find("try --keep-environment"), std::string::npos) << hint;
  EXPECT_EQ(hint.find('\n'), hint.size() - 1);
  EXPECT_EQ(binding_hint(false, nothing, kLinkerFailed), "") << "the environment is the person's own";
  EXPECT_EQ(binding_hint(true, nothing, kFailed), "");
  EXPECT_EQ(binding_hint(true, nothing, kSignal), "") << "no exit status";
  snapshot::step::StepOutcome recorded = sample();
  recorded.started = true;
  EXPECT_EQ(binding_hint(true, recorded, kLinkerFailed), "");
  nothing.started = false;
  EXPECT_EQ(binding_hint(true, nothing, kLinkerFailed), "") << "there is no such program";
}

TEST(RecorderReport, AFileThatCannotBeWrittenIsSaidBeforeTheProgramRuns) {
  RecorderOptions options;
  EXPECT_TRUE(ReportFile::open(options)->write("x").ok()) << "nobody asked for it";
  options.json_file = testing::TempDir() + "no/such/directory/j.json";
  auto refused = ReportFile::open(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("cannot write to " + options.json_file), std::string::npos);
  options.json_file = testing::TempDir() + "fathom_report.json";
  std::ofstream(options.json_file) << "what an earlier one left, which is longer";
  ASSERT_TRUE(ReportFile::open(options)->write("{}\n").ok());
  std::string text;
  std::getline(std::ifstream(options.json_file), text, '\0');
  EXPECT_EQ(text, "{}\n");
}

TEST(RecorderReport, StandardOutputIsNoFile) {
  RecorderOptions options;
  options.json_file = "-";
  testing::internal::CaptureStdout();  // a file: what the program wrote there must stay
  std::fputs("of the program\n", stdout);
  std::fflush(stdout);
  EXPECT_TRUE(ReportFile::open(options)->write("{}\n").ok());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "of the program\n{}\n");
  EXPECT_FALSE(std::ifstream("-").good());
}

TEST(RecorderReport, WhetherTheServerHasItIsToldOfRequests) {
  EXPECT_EQ(report_json(sample()).find("pushed"), std::string::npos);
  EXPECT_NE(report_json(sample(), false).find("\"pushed\":false"), std::string::npos);
  EXPECT_EQ(push_to_server({}, {}, {}, {}), std::nullopt) << "of no request";
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
  const std::string text = pt_taken_text({}, taken);
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
