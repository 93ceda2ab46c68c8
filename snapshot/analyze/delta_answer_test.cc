#include "snapshot/analyze/delta_answer.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <random>

#include "snapshot/analyze/delta_intervals.h"
#include "snapshot/analyze/testing/sample_run.h"

namespace fathom::snapshot {
namespace {

Question delta(const std::string& from, const std::string& to, Format format = Format::kJson) {
  Question question;
  question.verb = Verb::kDelta;
  question.format = format;
  question.from = from;
  question.to = to;
  return question;
}

class DeltaAnswer : public testing::Test {
 protected:
  boost::json::value ask(const std::string& from, const std::string& to) {
    return boost::json::parse(run_.answer_to(delta(from, to)));
  }
  static int64_t count(const boost::json::value& answer, std::string_view what) {
    return answer.at(what).at("count").as_int64();
  }
  std::string error(const std::string& from) {
    std::string text;
    const auto answered = run_.ask(delta(from, "cli"), text);
    EXPECT_FALSE(answered.ok());
    return answered.ok() ? "" : answered.error().message;
  }

  SampleRun run_;
};

TEST_F(DeltaAnswer, HasThreeOutputs) {
  for (int i = 0; i < 10; ++i) {
    run_.pass(static_cast<uint64_t>(i) * 100);
    run_.run_plain();
  }
  run_.finish();
  expect_golden("delta.txt", run_.answer_to(delta("superCLI", "superSTI", Format::kTable)));
  expect_golden("delta.json", run_.answer_to(delta("superCLI", "superSTI", Format::kJson)));
  expect_golden("delta.svg", run_.answer_to(delta("superCLI", "superSTI", Format::kSvg)));
}

TEST_F(DeltaAnswer, AnAddressWithoutCodeIsRefused) {
  run_.run_plain();
  run_.finish();
  EXPECT_NE(error("0x1").find("no process of this snapshot has code at 0x1"), std::string::npos) << error("0x1");
}

TEST_F(DeltaAnswer, EveryKindOfPattern) {
  for (int i = 0; i < 4; ++i) run_.run_plain();
  run_.finish();
  // From the entry of plain() to its return: all of it.
  const auto whole = ask("plain", "plain+0x1d");
  EXPECT_EQ(count(whole, "instruction_count"), 4);
  EXPECT_EQ(whole.at("instruction_count").at("max").as_int64(), static_cast<int64_t>(run_.instructions() / 4 - 1));
  EXPECT_EQ(count(ask("0x7f00000003d6", "plain+0x1d"), "instruction_count"), 4);
  EXPECT_EQ(count(ask("shop::handle", "sample.cc:16"), "from"), 4);
  EXPECT_EQ(count(ask("shop::handle", "sample.cc:16"), "to"), 4);
  EXPECT_EQ(count(ask("mov eax, 0x27", "syscall"), "instruction_count"), 8);
  EXPECT_EQ(ask("mov eax, 0x27", "syscall").at("instruction_count").at("max").as_int64(), 1);
  EXPECT_EQ(count(ask("pop*", "RET"), "from"), 4 * (2 + 2 + 2));
  EXPECT_EQ(count(ask("mov * , *", "ret"), "from"), 0);
  EXPECT_EQ(count(ask("outside@plt", "superCLI"), "instruction_count"), 8);
}

TEST_F(DeltaAnswer, APeriod) {
  for (int i = 0; i < 5; ++i) run_.run_plain();
  run_.finish();
  const auto period = ask("plain", "plain");
  EXPECT_EQ(count(period, "instruction_count"), 4);
  EXPECT_EQ(period.at("instruction_count").at("min").as_int64(), static_cast<int64_t>(run_.instructions() / 5));
  EXPECT_EQ(period.at("instruction_count").at("max").as_int64(), static_cast<int64_t>(run_.instructions() / 5));
  EXPECT_EQ(period.at("unclosed").as_int64(), 1);
  EXPECT_EQ(count(period, "from"), 5);
}

// Both lie in one block, which has one time.
TEST_F(DeltaAnswer, WhatNoTimeTellsApartIsTooShort) {
  for (int i = 0; i < 4; ++i) run_.run_plain();
  run_.finish();
  const auto answer = ask("mov eax, 0x27", "syscall");
  EXPECT_EQ(answer.at("time_unresolved").as_int64(), 8);
  EXPECT_EQ(answer.at("time").at("max").as_int64(), 0);
  const std::string table = run_.answer_to(delta("mov eax, 0x27", "syscall", Format::kTable));
  EXPECT_NE(table.find("intervals: 8, 8 too short for the recorded times\n"), std::string::npos) << table;
  EXPECT_NE(table.find("count 8  min too short  p50 too short  p99 too short  max too short\n"), std::string::npos)
      << table;
  EXPECT_EQ(table.find("0 ns "), std::string::npos) << table;
  EXPECT_EQ(ask("superCLI", "superSTI").at("time_unresolved").as_int64(), 0);
}

TEST_F(DeltaAnswer, AGapBreaksWhatIsOpen) {
  run_.run_plain();
  run_.builder().overflow(kSampleBase + 0x3d6);
  run_.run_plain();
  run_.finish();
  const auto answer = ask("plain", "nop");
  EXPECT_EQ(answer.at("broken").as_int64(), 1);
  EXPECT_EQ(answer.at("unclosed").as_int64(), 1);
  EXPECT_EQ(count(answer, "instruction_count"), 0);
}

// Parts are cut at synchronisation points, and what is found does not depend on them.
TEST_F(DeltaAnswer, WorksAcrossParts) {
  SampleRun cut({.psb_bytes = 512, .cyc = true});
  for (int i = 0; i < 6000; ++i) {
    run_.run_plain();
    cut.run_plain();
  }
  run_.finish();
  cut.finish();
  Question question = delta("shop::helper", "pop*");
  const auto whole = boost::json::parse(run_.answer_to(question));
  const auto parts = boost::json::parse(cut.answer_to(question));
  for (const char* what : {"instruction_count", "from", "to", "occurrences", "broken"}) {
    EXPECT_EQ(whole.at(what), parts.at(what)) << what;
  }
  EXPECT_EQ(count(whole, "instruction_count"), 6000);
}

TEST_F(DeltaAnswer, WhatNothingIsCalledByIsAnErrorWithACure) {
  run_.run_plain();
  run_.finish();
  EXPECT_NE(error("superCLl").find("did you mean superCLI?"), std::string::npos) << error("superCLl");
  EXPECT_NE(error("shop::handel").find("did you mean shop::handle?"), std::string::npos) << error("shop::handel");
  EXPECT_NE(error("plain+0x1000").find("plain"), std::string::npos);
  EXPECT_NE(error("sample.cc:9999").find("sample.cc:9999"), std::string::npos);
  EXPECT_NE(error("").find("empty"), std::string::npos);
}

struct Event {
  int kind = 0;  // 0 run, 1 from, 2 to, 3 both, 4 interrupt
  uint64_t amount = 0;
};

void feed(DeltaIntervals& into, const Event& event, uint64_t now, std::vector<uint64_t>& found) {
  const auto keep = [&](const Interval& interval) { found.push_back(interval.instructions); };
  if (event.kind == 0) into.run(event.amount);
  if (event.kind == 2 || event.kind == 3) into.to(now, now, keep);
  if (event.kind == 1 || event.kind == 3) into.from(now, now);
  if (event.kind == 4) into.interrupt();
}

// However a sequence is cut, the same intervals come out, though parts settle theirs in another order.
TEST(DeltaIntervals, CutAnywhere) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Event> events(random() % 30);
    for (Event& event : events) event = {static_cast<int>(random() % 5), random() % 10};
    std::vector<uint64_t> wanted, found;
    DeltaIntervals plain = DeltaIntervals::from_the_beginning();
    for (const Event& event : events) feed(plain, event, 1, wanted);
    DeltaIntervals all = DeltaIntervals::from_the_beginning();
    for (size_t at = 0; at < events.size();) {
      const size_t end = std::min(events.size(), at + random() % 6);
      DeltaIntervals part;
      for (; at < end; ++at) feed(part, events[at], 1, found);
      all.follow(part, [&](const Interval& interval) { found.push_back(interval.instructions); });
    }
    std::ranges::sort(wanted);
    std::ranges::sort(found);
    ASSERT_EQ(found, wanted) << "round " << round;
    ASSERT_EQ(all.broken(), plain.broken()) << "round " << round;
    ASSERT_EQ(all.open(), plain.open()) << "round " << round;
  }
}

}  // namespace
}  // namespace fathom::snapshot
