#include "node-agent/uplink/outgoing.h"

#include <gtest/gtest.h>

namespace fathom::agent {
namespace {

using Kind = OutgoingMessage::Kind;

TEST(Outgoing, KeepsBatchesInTheirOrder) {
  Outgoing outgoing;
  for (int i = 0; i < 5; ++i) outgoing.push({Kind::kBatch, std::to_string(i), nullptr});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(outgoing.pop().head, std::to_string(i));
  EXPECT_TRUE(outgoing.empty());
}

TEST(Outgoing, WhatIsSentByTheClockDoesNotGather) {
  Outgoing outgoing;
  outgoing.push({Kind::kBatch, "batch", nullptr});
  for (int i = 0; i < 1000; ++i) {
    outgoing.push({Kind::kProbe, "", nullptr});
    outgoing.push({Kind::kReport, std::to_string(i), nullptr});
  }
  ASSERT_EQ(outgoing.size(), 3u);
  EXPECT_EQ(outgoing.pop().head, "batch");
  EXPECT_EQ(outgoing.pop().head, "999") << "the newest";
  EXPECT_EQ(outgoing.pop().kind, Kind::kProbe);
}

TEST(Outgoing, AProbeComesBehindTheReportThatWaits) {
  Outgoing outgoing;
  outgoing.push({Kind::kProbe, "", nullptr});
  outgoing.push({Kind::kReport, "", nullptr, 1});
  outgoing.push({Kind::kBatch, "", nullptr});
  outgoing.push({Kind::kProbe, "", nullptr});
  EXPECT_EQ(outgoing.pop().report, 1u);
  EXPECT_EQ(outgoing.pop().kind, Kind::kBatch);
  EXPECT_EQ(outgoing.pop().kind, Kind::kProbe);
  EXPECT_TRUE(outgoing.empty());
}

TEST(Outgoing, CapturesGoLast) {
  Outgoing outgoing;
  for (int i = 0; i < 3; ++i) outgoing.push({Kind::kCapture, "c" + std::to_string(i), nullptr});
  EXPECT_EQ(outgoing.pop().head, "c0");
  outgoing.push({Kind::kBatch, "batch", nullptr});
  outgoing.push({Kind::kAnswer, "answer", nullptr});
  outgoing.push({Kind::kProbe, "", nullptr});
  EXPECT_EQ(outgoing.size(), 5u);
  EXPECT_EQ(outgoing.pop().head, "batch");
  EXPECT_EQ(outgoing.pop().head, "answer");
  EXPECT_EQ(outgoing.pop().kind, Kind::kProbe);
  EXPECT_EQ(outgoing.pop().head, "c1");
  EXPECT_EQ(outgoing.pop().head, "c2");
  EXPECT_TRUE(outgoing.empty());
}

TEST(Outgoing, AnswersDoNotGather) {
  Outgoing outgoing;
  Counter& unsent = counter("fathom_agent_unsent_answers_total", "");
  uint64_t before = unsent.value();
  for (size_t i = 0; i < Outgoing::kMostAnswers + 10; ++i) outgoing.push({Kind::kAnswer, std::to_string(i), nullptr});
  EXPECT_EQ(outgoing.size(), Outgoing::kMostAnswers);
  EXPECT_EQ(outgoing.pop().head, "10") << "the oldest went";
  EXPECT_EQ(unsent.value(), before + 10);
}

}  // namespace
}  // namespace fathom::agent
