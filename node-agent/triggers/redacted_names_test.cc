// Tests that names in triggers, headers and reasons are redacted, also if the rules changed since the trigger.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "capture/decode.h"
#include "node-agent/testing/redaction_rules.h"
#include "node-agent/triggers/capture_admission.h"
#include "node-agent/triggers/encode_capture.h"
#include "node-agent/triggers/made_content.h"
#include "node-agent/triggers/open_span_scan.h"

namespace fathom::agent {
namespace {

using testing::hash_of;
using testing::redaction_of;

OpenSpanCopy open_span(const std::string& name) {
  OpenSpanCopy span{.kind = 2, .name_bytes = static_cast<uint16_t>(name.size())};
  std::copy_n(name.begin(), std::min(name.size(), span.begin_of_name.size()), span.begin_of_name.begin());
  return span;
}

// The server's learned thresholds are those of redacted names.
TEST(RedactedNames, AnOpenSpanIsKnownByItsRedactedName) {
  const auto rules = redaction_of({"mask value [0-9]{4}"});
  const std::string masked = "GET /cards/[masked]", other = "GET /", longer = std::string(100, 'n');
  EXPECT_EQ(operation_of(open_span("GET /cards/4111"), rules.get()), operation_hash(2, masked, masked.size()));
  EXPECT_EQ(operation_of(open_span("GET /cards/4111"), nullptr), operation_hash(2, "GET /cards/4111", 15));
  EXPECT_EQ(operation_of(open_span(other), rules.get()), operation_hash(2, other, other.size()));
  EXPECT_EQ(operation_of(open_span(longer), rules.get()), operation_hash(2, longer, longer.size()));
}

TEST(RedactedNames, ATextIsRedactedBeforeItIsCut) {
  const auto rules = redaction_of({"mask value s+e"});
  EXPECT_EQ(redacted_text_of(std::string(2000, 's') + "e", rules.get()), "[masked]");
  EXPECT_EQ(redacted_text_of("name", nullptr), "name");
}

class RedactedCaptures : public ::testing::Test {
 protected:
  // A job of a program that was read when these rules applied.
  CaptureJob job(std::shared_ptr<const Redaction> rules) {
    auto program = std::make_shared<WatchedProgram>();
    program->service = "shop-4111";
    program->redaction = rules;
    program->ended = true;
    CaptureJob job;
    job.program = std::move(program);
    job.subjects.push_back({.operation = "GET /cards/4111", .reason = "GET /cards/4111 took 4112 ms"});
    job.subjects.back().redaction = std::move(rules);
    job.open.emplace();
    return job;
  }
  MadeContent make(const CaptureJob& job, std::shared_ptr<const Redaction> rules) {
    auto made = encode_redacted_capture(job, TickTimes(ClockReading{}), std::move(rules));
    EXPECT_TRUE(made.ok());
    auto content = capture::decode(made->content);
    EXPECT_TRUE(content.ok());
    content_ = *std::move(content);
    return made_content(job, {.made = *std::move(made)});
  }

  const std::shared_ptr<const Redaction> rules_ = redaction_of({}, {"mask value 411[0-9]"}, "print");
  capture::Capture content_;
};

TEST_F(RedactedCaptures, RulesThatAreNewerThanTheTriggerApplyToItsNames) {
  const CaptureJob job = this->job(nullptr);
  const MadeContent content = make(job, rules_);
  EXPECT_EQ(content_.service, "shop-[masked]");
  EXPECT_EQ(content_.reason, "GET /cards/[masked] took [masked] ms");
  const ingest::CaptureBegin begin = outgoing_of(job.subjects.front(), content).begin;
  EXPECT_EQ(begin.service, "shop-[masked]");
  EXPECT_EQ(begin.operation, "GET /cards/[masked]");
  EXPECT_EQ(begin.redaction_fingerprint, "print");
}

// Otherwise a rule for numbers would also change the agent's own words.
TEST_F(RedactedCaptures, NamesThatAreRedactedStayAsTheyAre) {
  const CaptureJob job = this->job(rules_);
  const MadeContent content = make(job, rules_);
  EXPECT_EQ(content_.reason, "GET /cards/4111 took 4112 ms");
  EXPECT_EQ(outgoing_of(job.subjects.front(), content).begin.operation, "GET /cards/4111");
}

TEST_F(RedactedCaptures, WithoutRulesACaptureHasNoFingerprint) {
  const CaptureJob job = this->job(nullptr);
  const MadeContent content = make(job, nullptr);
  EXPECT_EQ(content_.service, "shop-4111");
  const ingest::CaptureBegin begin = outgoing_of(job.subjects.front(), content).begin;
  EXPECT_EQ(begin.operation, "GET /cards/4111");
  EXPECT_EQ(begin.redaction_fingerprint, "");
}

TEST_F(RedactedCaptures, KeyRulesApplyToTheService) {
  const auto hashes = redaction_of({"hash key service.name"});
  EXPECT_EQ(service_of(*job(nullptr).program, hashes.get()), hash_of("shop-4111"));
  EXPECT_EQ(service_of(*job(nullptr).program, redaction_of({"drop key service.*"}).get()), "");
  EXPECT_EQ(service_of(*job(hashes).program, hashes.get()), "shop-4111") << "it is the hash already";
}

}  // namespace
}  // namespace fathom::agent
