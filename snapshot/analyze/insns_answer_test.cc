#include "snapshot/analyze/insns_answer.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>

#include "base/testing/temp_directory.h"
#include "snapshot/analyze/answer_context.h"
#include "snapshot/analyze/insns_rows.h"
#include "snapshot/analyze/testing/sample_run.h"
#include "snapshot/decode/testing/scripted_extents.h"

namespace fathom::snapshot {
namespace {

Question insns(Format format = Format::kTable) {
  Question question;
  question.verb = Verb::kInsns;
  question.format = format;
  return question;
}

class InsnsAnswer : public testing::Test {
 protected:
  std::string count() {
    Question question = insns();
    question.count_only = true;
    return run_.answer_to(question);
  }

  SampleRun run_;
};

TEST_F(InsnsAnswer, ListsWhatRan) {
  run_.run_plain();
  run_.finish();
  expect_golden("insns.txt", run_.answer_to(insns()));
  expect_golden("insns.json", run_.answer_to(insns(Format::kJson)));
  expect_golden("insns.svg", run_.answer_to(insns(Format::kSvg)));
}

TEST_F(InsnsAnswer, SourceTextStandsAboveWhatRanOfIt) {
  const TempDirectory scratch;
  const std::string& directory = scratch.path();
  std::ofstream file(scratch / "sample.cc");
  for (int line = 1; line <= 22; ++line) file << "  line " << line << " says\tthis\n";
  file.close();
  run_.run_plain();
  run_.finish();
  Question question = insns();
  question.source_directories = {{"/build", directory}};
  const std::string table = run_.answer_to(question);
  EXPECT_NE(table.find("                build/sample.cc:11: line 11 says"), std::string::npos) << table;
  EXPECT_NE(table.find("source: no text of /build/sample.cc is here as it was compiled; looked below " + directory +
                       " for /build; --source-dir /build=DIR reads it below DIR\n"),
            std::string::npos)
      << "line 23 is behind its end: " << table;
  question.source_directories = {{"/elsewhere", directory}};
  question.source_directories.push_back({"/", "/"});
  const std::string nowhere = run_.answer_to(question);
  EXPECT_NE(
      nowhere.find("looked below " + directory + " for /elsewhere, and where its name says; --source-dir /build=DIR"),
      std::string::npos)
      << nowhere;
  EXPECT_EQ(nowhere.find("source: "), nowhere.rfind("source: ")) << "once";
  question.source_directories = {{"/build", directory}};
  question.format = Format::kJson;
  EXPECT_NE(run_.answer_to(question).find("\"line\":11,\"source\":\"line 11 says"), std::string::npos);
}

TEST_F(InsnsAnswer, CountsInTwoNumbers) {
  run_.run_plain();
  run_.builder().overflow(kSampleBase + 0x3d6);
  run_.run_plain();
  run_.finish();
  EXPECT_EQ(count(), std::to_string(run_.instructions()) + "\n1\n");
}

TEST_F(InsnsAnswer, JsonHasARowForEveryInstructionAndEvent) {
  run_.run_plain();
  run_.builder().overflow(kSampleBase + 0x3d6);
  run_.run_plain();
  run_.finish();
  const auto parsed = boost::json::parse(run_.answer_to(insns(Format::kJson)));
  size_t instructions = 0;
  size_t gaps = 0;
  for (const auto& row : parsed.at("rows").as_array()) {
    instructions += row.as_object().contains("instruction") ? 1 : 0;
    gaps += row.as_object().contains("reason") ? 1 : 0;
  }
  EXPECT_EQ(instructions, run_.instructions());
  EXPECT_EQ(gaps, 1u);
  EXPECT_TRUE(parsed.at("complete").as_bool());
  EXPECT_EQ(parsed.at("instructions").as_int64(), static_cast<int64_t>(run_.instructions()));
}

TEST_F(InsnsAnswer, MarksAreSpans) {
  run_.snapshot().trigger.span_id = *Id<8>::from_hex_text("00f067aa0ba902b7");
  run_.run_marked(0x00f067aa0ba902b7);
  run_.run_marked(0x1122334455667788);
  run_.run_marked(0);
  run_.finish();
  expect_golden("insns_marks.txt", run_.answer_to(insns()));
  expect_golden("insns_marks.json", run_.answer_to(insns(Format::kJson)));
}

TEST_F(InsnsAnswer, WhatOthersWroteMayMeanAnything) {
  run_.snapshot().origin = Origin::kPerfData;
  run_.run_marked(0x1234);
  run_.finish();
  EXPECT_NE(run_.answer_to(insns()).find("-- mark 0x1234 at "), std::string::npos) << run_.answer_to(insns());
  EXPECT_NE(run_.answer_to(insns(Format::kJson)).find("\"value\":\"0x1234\"}"), std::string::npos);
}

TEST_F(InsnsAnswer, ALimitIsSaid) {
  run_.run_plain();
  run_.finish();
  Question question = insns();
  question.limit = 5;
  const std::string text = run_.answer_to(question);
  EXPECT_NE(text.find("-- and more: the limit of 5 rows is reached\n"), std::string::npos) << text;
  question.format = Format::kJson;
  const auto parsed = boost::json::parse(run_.answer_to(question));
  EXPECT_EQ(parsed.at("rows").as_array().size(), 5u);
  EXPECT_FALSE(parsed.at("complete").as_bool());
}

TEST_F(InsnsAnswer, OneThreadAlone) {
  run_.run_plain();
  run_.finish();
  Question question = insns();
  question.tid = 43;
  question.count_only = true;
  EXPECT_EQ(run_.answer_to(question), std::to_string(run_.instructions()) + "\n0\n");
  question.tid = 44;
  std::string text;
  EXPECT_FALSE(run_.ask(question, text).ok());
}

TEST_F(InsnsAnswer, AThreadThatRanNothingHasNoHead) {
  run_.run_plain();
  run_.finish();
  auto context = AnswerContext::open(run_.directory(), run_.directory().list()->front());
  ASSERT_TRUE(context.ok());
  std::string text;
  const Output output = [&](std::string_view piece) { return !(text += piece).empty(); };
  const Question question = insns();
  AnswerWriter writer(output);
  InsnsRows rows(**context, question, writer);
  const FlowItem gap = event_item(FlowKind::kGap, 0, 0, 0, GapReason::kOverflow);
  for (const FlowItem& item : {thread_item(42, 44, 1), thread_item(42, 43, 2), gap, thread_item(42, 44, 3),
                               thread_item(42, 43, 4), gap, thread_item(42, 45, 5)}) {
    ASSERT_TRUE(rows.print({&item, 1}));
  }
  writer.flush();
  EXPECT_EQ(text.find("thread 44"), std::string::npos) << text;
  EXPECT_EQ(text.find("thread 45"), std::string::npos) << text;
  EXPECT_EQ(text.find("-- thread 43"), text.rfind("-- thread 43")) << "nothing came between\n" << text;
}

TEST_F(InsnsAnswer, AMissingImageIsAGapWithItsReason) {
  run_.snapshot().images[0].content = {};
  run_.snapshot().images[0].missing = "no such file";
  run_.run_plain();
  run_.finish();
  const std::string text = run_.answer_to(insns());
  EXPECT_NE(text.find("-- gap: missing image"), std::string::npos) << text;
  EXPECT_NE(text.find("no such file"), std::string::npos) << text;
}

// A list can be longer than memory: it stops when nobody reads any more.
TEST_F(InsnsAnswer, StopsWhenTheReaderIsGone) {
  for (int i = 0; i < 2000; ++i) run_.run_plain();
  run_.finish();
  size_t pieces = 0;
  size_t longest = 0;
  Question question = insns();
  question.id = *run_.directory().find("last");
  const auto answered = answer(run_.directory(), question, [&](std::string_view piece) {
    longest = std::max(longest, piece.size());
    return ++pieces < 3;
  });
  EXPECT_TRUE(answered.ok());
  EXPECT_EQ(pieces, 3u);
  EXPECT_LT(longest, 1u << 20);
}

TEST_F(InsnsAnswer, ASnapshotThatIsNotThereIsSaid) {
  Question question = insns();
  question.id = *SnapshotId::from_bytes("0123456789abcdef");
  std::string text;
  EXPECT_FALSE(answer(run_.directory(), question, [](std::string_view) { return true; }).ok());
}

}  // namespace
}  // namespace fathom::snapshot
