// Whether a capture has to go, by what its content says.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capture/encode.h"
#include "query/conditions.h"
#include "query/purge/purged_content.h"

namespace fathom::query {
namespace {

TraceId content_trace(uint8_t number) {
  TraceId id;
  id.bytes.fill(number);
  return id;
}

capture::Thread thread_with(std::vector<capture::OpenSpan> open) {
  capture::Thread thread;
  thread.tid = 7;
  thread.open = std::move(open);
  return thread;
}

// One event of each type of field.
capture::Capture sample() {
  using capture::FieldType;
  using capture::Value;
  capture::Capture sample;
  sample.end_nano = 1000;
  sample.service = "shop";
  sample.tracepoints = {{"login",
                         "login.cc",
                         3,
                         {{"user.id", FieldType::kText},
                          {"age", FieldType::kInteger},
                          {"card", FieldType::kNatural},
                          {"ratio", FieldType::kReal},
                          {"new", FieldType::kTruth},
                          {"raw", FieldType::kBytes}}}};
  capture::Thread thread = thread_with({});
  const capture::Value values[] = {thread.add_text("alice"), Value::of_integer(-3), Value::of_natural(UINT64_MAX),
                                   Value::of_real(0.5),      Value::of_truth(true), thread.add_text("ab")};
  thread.add_event({.monotonic_nano = 5}, values);
  sample.threads.push_back(std::move(thread));
  return sample;
}

bool is_purged(const capture::Capture& capture, const std::string& condition, const store::TraceSet& traces = {}) {
  const Result<bool> purged = is_purged_content(encode(capture), traces, {*parse_condition(condition)});
  EXPECT_TRUE(purged.ok());
  return purged.ok() && *purged;
}

TEST(PurgedContent, AnEventMeetsTheConditions) {
  for (const char* condition : {"user.id=alice", "age=-3", "age<0", "card=18446744073709551615", "ratio=0.5", "ratio<1",
                                "new=true", "raw=YWI=", "raw", "user.id!=bob", "service.name=shop"}) {
    EXPECT_TRUE(is_purged(sample(), condition)) << condition;
  }
  for (const char* condition : {"user.id=bob", "age>0", "card=1", "user=alice", "!user.id"}) {
    EXPECT_FALSE(is_purged(sample(), condition)) << condition;
  }
}

TEST(PurgedContent, AllConditionsAreAboutOneEvent) {
  const std::string content = encode(sample());
  EXPECT_TRUE(*is_purged_content(content, {}, {*parse_condition("user.id=alice"), *parse_condition("age=-3")}));
  EXPECT_FALSE(*is_purged_content(content, {}, {*parse_condition("user.id=alice"), *parse_condition("age=3")}));
}

TEST(PurgedContent, ATraceIsNamedByEventsOrOpenSpans) {
  capture::Capture by_event = sample();
  by_event.span_sets.push_back({{content_trace(1), {}}, {content_trace(2), SpanId{{1}}}});
  by_event.threads[0].events[0].spans = 1;
  EXPECT_TRUE(is_purged(by_event, "no.such.key", {content_trace(2)}));
  EXPECT_FALSE(is_purged(by_event, "no.such.key", {content_trace(3)}));
  capture::Capture by_open_span = sample();
  by_open_span.threads[0].open.push_back(
      {.span = {content_trace(4), SpanId{{1}}}, .start_nano = 1, .kind = 2, .name = "a"});
  EXPECT_TRUE(is_purged(by_open_span, "no.such.key", {content_trace(4)}));
  EXPECT_FALSE(is_purged(by_open_span, "no.such.key", {content_trace(2)}));
}

TEST(PurgedContent, WhatCannotBeDecodedIsSaid) {
  const Result<bool> purged = is_purged_content("no capture", {}, {*parse_condition("a")});
  ASSERT_FALSE(purged.ok());
  EXPECT_EQ(purged.error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace fathom::query
