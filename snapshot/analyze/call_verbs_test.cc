// The verbs that are built on call stacks, from packets and symbols to their answers.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <map>

#include "base/testing/temp_directory.h"
#include "net/gzip.h"
#include "snapshot/analyze/testing/sample_run.h"

namespace fathom::snapshot {
namespace {

Question ask_for(Verb verb, Format format = Format::kTable) {
  Question question;
  question.verb = verb;
  question.format = format;
  return question;
}

class CallVerbs : public testing::Test {
 protected:
  void run(int rounds) {
    for (int i = 0; i < rounds; ++i) run_.run_plain();
    run_.finish();
  }
  std::string answer(Verb verb, Format format = Format::kTable) { return run_.answer_to(ask_for(verb, format)); }
  // A directory with a source file of so many lines.
  std::string written_lines(const std::string& name, int count) const {
    std::ofstream file(scratch_ / name);
    for (int line = 1; line <= count; ++line) file << "line " << line << "\n";
    return scratch_.path();
  }
  static void expect_holds(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
  }

  SampleRun run_;
  TempDirectory scratch_;
};

TEST_F(CallVerbs, CallsFromPackets) {
  run_.run_plain();
  run_.interrupt_next_call();
  run(2);
  expect_golden("sample_calls.txt", answer(Verb::kCalls));
  expect_golden("sample_functions.txt", answer(Verb::kFunctions));
  expect_golden("sample_sunburst.txt", answer(Verb::kSunburst));
}

// take() calls lock() through a guard's inlined constructor; the guard itself is inlined in count().
TEST_F(CallVerbs, CallsNameTheLineThatWasInlined) {
  run_.run_inlined();
  run_.finish();
  Question question = ask_for(Verb::kCalls);
  expect_holds(run_.answer_to(question),
               "  (build/inlined.cc:7 in shop::Mutex::take(), inlined at build/inlined.cc:15)\n");
  question.source_directories = {{"/build", written_lines("inlined.cc", 20)}};
  expect_holds(run_.answer_to(question),
               "  (build/inlined.cc:7: line 7 in shop::Mutex::take(), inlined at build/inlined.cc:15: line 15)\n");
  question.format = Format::kJson;
  expect_holds(run_.answer_to(question),
               R"json("called_from_line":"build/inlined.cc:15","called_from_source":"line 15",)json"
               R"json("called_from_inlined":{"function":"shop::Mutex::take()","line":"build/inlined.cc:7",)json"
               R"json("source":"line 7"})json");
}

TEST_F(CallVerbs, CallsSayByWhatTheyAreRanked) {
  run(3);
  Question question = ask_for(Verb::kCalls);
  expect_holds(run_.answer_to(question), "\nranked by elapsed time, pauses included;");
  question.by_instructions = true;
  expect_holds(run_.answer_to(question), "\nranked by instructions\n");
  question.format = Format::kSvg;
  expect_holds(run_.answer_to(question), "; width: instructions<");
  question.by_instructions = false;
  expect_holds(run_.answer_to(question), "; width: elapsed time, pauses included<");
}

TEST_F(CallVerbs, WithOneThreadTheHeadSaysWhoseInstructionsItCounts) {
  run(3);
  Question question;
  question.tid = kSamplePid + 1;
  for (Verb verb : {Verb::kCalls, Verb::kFunctions, Verb::kSunburst}) {
    question.verb = verb;
    question.format = Format::kTable;
    expect_holds(run_.answer_to(question), "of all threads; below: thread 43");
  }
}

TEST_F(CallVerbs, EveryAnswerSaysEngineInstructionsAndGaps) {
  run_.snapshot().slowdown = 812;
  run_.snapshot().engine = Engine::kStep;
  run(3);
  for (Verb verb : {Verb::kCalls, Verb::kFunctions, Verb::kSunburst}) {
    const std::string table = answer(verb);
    expect_holds(table, "engine: step, 812 times slower");
    expect_holds(table, "instructions: " + std::to_string(run_.instructions()));
    expect_holds(table, "gaps: none");
    const auto json = boost::json::parse(answer(verb, Format::kJson)).as_object();
    EXPECT_EQ(json.at("instructions").as_int64(), static_cast<int64_t>(run_.instructions()));
    EXPECT_TRUE(json.contains("engine") && json.contains("gaps") && json.contains("time_unit"));
    const std::string svg = answer(verb, Format::kSvg);
    EXPECT_TRUE(svg.starts_with("<svg") || svg.starts_with("<?xml")) << svg.substr(0, 60);
    expect_holds(svg, "812 times slower");
  }
}

TEST_F(CallVerbs, TheRootHasAllInstructions) {
  run(5);
  const auto json = boost::json::parse(answer(Verb::kCalls, Format::kJson));
  int64_t itself = 0;
  for (const auto& row : json.at("rows").as_array()) itself += row.at("instructions").as_int64();
  EXPECT_EQ(itself, static_cast<int64_t>(run_.instructions()));
  EXPECT_EQ(json.at("rows").at(0).at("total_instructions").as_int64(), itself);
}

TEST_F(CallVerbs, TimeIsTheSameInEveryAnswer) {
  run(5);
  const auto rows_of = [this](Verb verb, const char* rows) {
    std::map<std::string, std::pair<int64_t, int64_t>> times;
    const auto json = boost::json::parse(answer(verb, Format::kJson));
    for (const auto& row : json.at(rows).as_array()) {
      times[row.at("name").as_string().c_str()] = {row.at("total_time").as_int64(), row.at("total_paused").as_int64()};
    }
    return times;
  };
  const auto calls = rows_of(Verb::kCalls, "rows");
  const auto functions = rows_of(Verb::kFunctions, "functions");
  for (const char* name : {"plain", "shop::handle(shop::Request&)", "shop::helper(int)"}) {
    ASSERT_TRUE(calls.contains(name) && functions.contains(name)) << name;
    EXPECT_EQ(calls.at(name), functions.at(name)) << name;
    EXPECT_GT(calls.at(name).first, 0) << name;
    EXPECT_GT(calls.at(name).second, 0) << name;
  }
}

TEST_F(CallVerbs, AThreadThatIsNotThereIsAnError) {
  run(1);
  Question question = ask_for(Verb::kCalls, Format::kJson);
  question.tid = 4711;
  for (Verb verb : {Verb::kCalls, Verb::kFunctions, Verb::kInsns, Verb::kSyscalls, Verb::kStats, Verb::kSunburst}) {
    question.verb = verb;
    std::string text;
    const auto answered = run_.ask(question, text);
    ASSERT_FALSE(answered.ok());
    EXPECT_EQ(answered.error().code, ErrorCode::kInvalid);
    expect_holds(answered.error().message, "no thread 4711 in this snapshot: it has 43");
    EXPECT_EQ(text, "") << "an error alone";
  }
}

TEST_F(CallVerbs, PprofIsGzipped) {
  run(2);
  auto profile = net::gunzip(answer(Verb::kPprof), 1 << 20, nullptr);
  ASSERT_TRUE(profile.ok());
  expect_holds(*profile, "shop::handle");
  expect_holds(*profile, "engine: ");
}

TEST_F(CallVerbs, PerfettoHasSlices) {
  run(2);
  const std::string trace = answer(Verb::kPerfetto);
  expect_holds(trace, "shop::handle");
  expect_holds(trace, "gaps: none");
}

TEST_F(CallVerbs, ADifferenceNeedsTwo) {
  run(2);
  std::string text;
  auto answered = run_.ask(ask_for(Verb::kDiff), text);
  ASSERT_FALSE(answered.ok());
  EXPECT_EQ(answered.error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace fathom::snapshot
