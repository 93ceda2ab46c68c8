// Tests that a capture has nothing of what redaction rules remove.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capture/decode.h"
#include "node-agent/capture/capture_builder.h"
#include "node-agent/detail/detail_reader.h"
#include "node-agent/detail/tick_window.h"
#include "node-agent/sources/client_events.h"
#include "node-agent/sources/kernel_events.h"
#include "node-agent/testing/detail_events.h"
#include "node-agent/testing/golden_detail.h"
#include "node-agent/testing/redaction_rules.h"
#include "node-agent/testing/scripted_host.h"

namespace fathom::agent {
namespace {

using capture::FieldType;
using testing::detail_record;
using testing::hash_of;
using testing::kSecond;
using testing::raw;
using testing::redaction_of;
using testing::sized;

using Texts = std::vector<std::string>;

class RedactedCaptureTest : public ::testing::Test {
 protected:
  RedactedCaptureTest() : clock_(host_) {
    testing::run(host_, clock_, 2 * kSecond);
    begin_ = host_.monotonic() - kSecond;
    facts_ = {.begin_nano = begin_, .end_nano = begin_ + kSecond, .pid = 42};
    pool_.describe(20, "pay",
                   {{pool::FieldType::kInt64, "card"},
                    {pool::FieldType::kString, "note"},
                    {pool::FieldType::kUint64, "amount"},
                    {pool::FieldType::kBytes, "raw"},
                    {pool::FieldType::kDouble, "price"},
                    {pool::FieldType::kBool, "new"}});
    pool_.claim(0, begin_ + 1, 9);
  }
  void pay(uint64_t at, int64_t card, const std::string& note, uint64_t amount = 5, const std::string& bytes = "r") {
    const std::string payload =
        raw(card) + sized(note) + raw(amount) + sized(bytes) + raw(0.5) + raw(static_cast<uint8_t>(1));
    ASSERT_TRUE(pool_.put(0, detail_record(20, begin_ + at, payload)));
  }
  capture::Capture make(std::shared_ptr<const Redaction> rules) {
    DetailReader reader(testing::open_detail(pool_));
    const TickTimes times = clock_.times();
    snapshot_ = reader.snapshot(
        tick_window(times, pool_.header().clock, facts_.begin_nano, facts_.end_nano, begin_ + kSecond), 1 << 30);
    CaptureFacts facts = facts_;
    facts.redaction = std::move(rules);
    CaptureBuilder builder(std::move(facts), times, identify_);
    builder.write_open_spans(open_, pool::Clock::kMonotonic);
    write_client_events(snapshot_, builder);
    write_kernel_events(kernel_, builder);
    made_ = *builder.finish();
    Result<capture::Capture> decoded = capture::decode(made_.content);
    EXPECT_TRUE(decoded.ok()) << decoded.error().message;
    return decoded.ok() ? *std::move(decoded) : capture::Capture();
  }
  // "key=value" of an event, with texts in quotes.
  static Texts values(const capture::Capture& capture, size_t number) {
    const capture::Thread& thread = capture.threads.at(0);
    const capture::Event& event = thread.events.at(number);
    const capture::Tracepoint& tracepoint = capture.tracepoints.at(event.tracepoint);
    Texts texts;
    for (size_t i = 0; i < event.values; ++i) {
      const capture::Value value = thread.values_of(event)[i];
      texts.push_back(tracepoint.fields.at(i).key + "=" + text_of(thread, tracepoint.fields[i].type, value));
    }
    return texts;
  }
  static std::string text_of(const capture::Thread& thread, FieldType type, capture::Value value) {
    if (type == FieldType::kText) return "\"" + std::string(thread.text_of(value)) + "\"";
    if (type == FieldType::kBytes) return "b\"" + std::string(thread.text_of(value)) + "\"";
    if (type == FieldType::kInteger) return std::to_string(value.integer());
    if (type == FieldType::kNatural) return std::to_string(value.natural());
    if (type == FieldType::kReal) return value.real() == 0.5 ? "0.5" : "another";
    return value.truth() ? "true" : "false";
  }

  testing::ScriptedHost host_;
  testing::ScriptedDetail pool_;
  TickClock clock_;
  uint64_t begin_ = 0;
  CaptureFacts facts_;
  ThreadTable::Identify identify_;
  std::vector<OpenSpanOfThread> open_;
  KernelSnapshot kernel_;
  DetailSnapshot snapshot_;
  MadeCapture made_;
};

TEST_F(RedactedCaptureTest, KeyRulesApplyToTheFieldsOfATracepoint) {
  pay(1, 4111, "of ann");
  pay(2, 4111, "of bob");
  const capture::Capture capture = make(redaction_of({"hash key card", "drop key note", "mask key raw"}));
  ASSERT_EQ(capture.tracepoints.size(), 1u);
  EXPECT_EQ(capture.tracepoints[0].fields, (std::vector<capture::Field>{{"card", FieldType::kText},
                                                                        {"amount", FieldType::kNatural},
                                                                        {"raw", FieldType::kText},
                                                                        {"price", FieldType::kReal},
                                                                        {"new", FieldType::kTruth}}));
  const std::string hash = "card=\"" + hash_of("4111") + "\"";
  EXPECT_EQ(values(capture, 0), (Texts{hash, "amount=5", "raw=\"[masked]\"", "price=0.5", "new=true"}));
  EXPECT_EQ(values(capture, 1)[0], hash) << "equal values have equal hashes";
}

TEST_F(RedactedCaptureTest, ValueRulesApplyToTextsAndBytes) {
  pay(1, 1, "card 4111 of ann", 5,
      "\x01"
      "4111");
  pay(2, 1, "of topsecret things", 5, "topsecret");
  const capture::Capture capture = make(redaction_of({"mask value 4[0-9]{3}", "drop value topsecret"}));
  ASSERT_EQ(capture.tracepoints.size(), 1u);
  EXPECT_EQ(values(capture, 0), (Texts{"card=1", "note=\"card [masked] of ann\"", "amount=5", "raw=b\"[masked]\"",
                                       "price=0.5", "new=true"}));
  EXPECT_EQ(values(capture, 1), (Texts{"card=1", "note=\"\"", "amount=5", "raw=b\"\"", "price=0.5", "new=true"}));
}

// Other events of the tracepoint keep their numbers.
TEST_F(RedactedCaptureTest, AnEventWhoseNumberMatchesHasTextsForNumbers) {
  pay(1, 77, "a");
  pay(2, 4111, "b", std::numeric_limits<uint64_t>::max());
  pay(3, 78, "c", 41110);
  const capture::Capture capture = make(redaction_of({"mask value ^4[0-9]{3}"}));
  ASSERT_EQ(capture.tracepoints.size(), 2u);
  EXPECT_EQ(capture.tracepoints[0].name, capture.tracepoints[1].name);
  EXPECT_EQ(values(capture, 0), (Texts{"card=77", "note=\"a\"", "amount=5", "raw=b\"r\"", "price=0.5", "new=true"}));
  EXPECT_EQ(values(capture, 1), (Texts{"card=\"[masked]\"", "note=\"b\"", "amount=\"18446744073709551615\"",
                                       "raw=b\"r\"", "price=\"0.5\"", "new=\"true\""}));
  EXPECT_EQ(values(capture, 2)[2], "amount=\"[masked]0\"");
}

TEST_F(RedactedCaptureTest, AnEventWhoseEndIsMissingKeepsWhatItHas) {
  ASSERT_TRUE(pool_.put(0, testing::long_detail_record(20, begin_ + 1, raw(int64_t{4111}) + sized("n"))));
  const capture::Capture capture = make(redaction_of({"drop key card"}));
  EXPECT_EQ(values(capture, 0), (Texts{"note=\"n\""}));
  EXPECT_EQ(made_.losses, (std::vector<std::pair<std::string, uint64_t>>{{"malformed_payloads", 1}}));
}

TEST_F(RedactedCaptureTest, NamesOfThreadsSpansAndProgramsAreRedacted) {
  pay(1, 1, "x");
  identify_ = [](uint32_t tid) { return ThreadIdentity{tid, "user-4111"}; };
  open_ = {{9, begin_ + 1, {}, 2, "GET /cards/4111"}};
  kernel_.complete_from_nano = begin_;
  KernelEvent event{.kind = KernelEventKind::kSwitch, .monotonic_nano = begin_ + 5};
  event.pid = 42, event.tid = 9, event.other_pid = 77, event.other_tid = 77, event.name = "job-4111";
  kernel_.events.push_back(event);
  const capture::Capture capture = make(redaction_of({"mask value 4[0-9]{3}"}));
  const capture::Thread& thread = capture.threads.at(0);
  EXPECT_EQ(thread.name, "user-[masked]");
  EXPECT_EQ(thread.open.at(0).name, "GET /cards/[masked]");
  EXPECT_EQ(thread.kernel_events.at(0).other_name, "job-[masked]");
}

TEST_F(RedactedCaptureTest, OnlyTheServersRulesHaveAFingerprint) {
  pay(1, 4111, "x");
  make(nullptr);
  EXPECT_EQ(made_.redaction, nullptr);
  const auto rules = redaction_of({"drop key a"}, {"drop key note"}, "print");
  const capture::Capture capture = make(rules);
  EXPECT_EQ(made_.redaction, rules);
  EXPECT_EQ(values(capture, 0)[1], "amount=5");
}

TEST_F(RedactedCaptureTest, RulesThatMatchNothingChangeNothing) {
  pay(1, 4111, "x");
  const capture::Capture plain = make(nullptr);
  EXPECT_TRUE(same(make(redaction_of({"drop key other", "mask value nothing"})), plain));
}

}  // namespace
}  // namespace fathom::agent
