// What holds for both decoders: the same request gives the same batches, limits, rejections and losses.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "collector/otlp/decoded.h"
#include "collector/testing/differential.h"
#include "collector/testing/requests.h"

namespace fathom::collector {
namespace {

using namespace testing;
using store::ValueType;

size_t at(Rejection reason) {
  return static_cast<size_t>(reason);
}
size_t at(Oddity oddity) {
  return static_cast<size_t>(oddity);
}
size_t at(Loss loss) {
  return static_cast<size_t>(loss);
}

TEST(Decoder, TheSameRequestAsProtobufAndAsJsonIsTheSameBatch) {
  Decoded protobuf = decode(full_request());
  Decoded json = decode_json_text(full_request_as_json());
  ASSERT_EQ(protobuf.batches.size(), 1u);
  ASSERT_EQ(json.batches.size(), 1u);
  EXPECT_EQ(protobuf.batches[0]->identity(), json.batches[0]->identity());
  EXPECT_EQ(protobuf.batches[0]->encoded(), json.batches[0]->encoded());
}

TEST(Decoder, ReadsEveryField) {
  Decoded decoded = decode(full_request());
  size_t seen = 0;
  each_span(decoded, [&](const store::Batch& batch, const store::SpanView& span) {
    ++seen;
    EXPECT_EQ(store::service_name(batch.resource(0)), "checkout");
    EXPECT_EQ(batch.resource(0).schema_url, "https://example.test/1");
    EXPECT_EQ(batch.resource(0).dropped_attributes_count, 7u);
    EXPECT_EQ(batch.scope(0).name, "tests");
    EXPECT_EQ(batch.scope(0).version, "1.2");
    EXPECT_EQ(batch.scope(0).schema_url, "https://example.test/2");
    EXPECT_EQ(span.trace_id.view(), trace_id_bytes());
    EXPECT_EQ(span.span_id.view(), span_id_bytes(1));
    EXPECT_EQ(span.parent_span_id.view(), span_id_bytes(0xabcdef));
    EXPECT_EQ(span.name, "GET /cart");
    EXPECT_EQ(span.trace_state, "a=b");
    EXPECT_EQ(span.kind, store::SpanKind::kServer);
    EXPECT_EQ(span.status, store::StatusCode::kError);
    EXPECT_EQ(span.status_message, "no stock");
    EXPECT_EQ(span.flags, 1u);
    EXPECT_EQ(span.duration_nano(), 1000u);
    EXPECT_EQ(span.dropped_attributes_count, 11u);
    EXPECT_EQ(span.dropped_events_count, 12u);
    EXPECT_EQ(span.dropped_links_count, 13u);
    ASSERT_EQ(span.events.size(), 1u);
    EXPECT_EQ(span.events[0].name, "exception");
    EXPECT_EQ(span.events[0].attributes[0].value.text, "Timeout");
    ASSERT_EQ(span.links.size(), 1u);
    EXPECT_EQ(span.links[0].trace_id.view(), trace_id_bytes(9));
    EXPECT_EQ(span.links[0].flags, 257u);
    EXPECT_EQ(span.links[0].attributes[0].key, "why");
  });
  EXPECT_EQ(seen, 1u);
}

TEST(Decoder, ReadsEveryKindOfValue) {
  each_span(decode(full_request()), [&](const store::Batch&, const store::SpanView& span) {
    ASSERT_EQ(span.attributes.size(), 7u);
    EXPECT_EQ(span.attributes[0].value, store::ValueView::of_string("/cart/{id}"));
    EXPECT_EQ(span.attributes[1].value.as_int(), INT64_MIN);
    EXPECT_EQ(span.attributes[2].value.as_double(), 1e300);
    EXPECT_TRUE(span.attributes[3].value.as_bool());
    EXPECT_EQ(span.attributes[4].value.type, ValueType::kBytes);
    EXPECT_EQ(span.attributes[5].value.type, ValueType::kJson);
    EXPECT_EQ(span.attributes[5].value.text, R"([-5,0.5,"a\"b\\\n)"
                                             "\xc3\xa9"
                                             R"(","AP8=",null,{"k":true,"nothing":null}])");
    EXPECT_EQ(span.attributes[6].value.type, ValueType::kEmpty);
  });
}

TEST(Decoder, AnEmptyRequestIsARequest) {
  for (const Decoded& decoded : {decode(Request()), decode_json_text("{}"), decode_json_text("{\"resourceSpans\":[]}"),
                                 decode_json_text("{\"resourceSpans\":null}")}) {
    EXPECT_TRUE(decoded.batches.empty());
    EXPECT_EQ(decoded.accepted_spans + decoded.rejected_spans, 0u);
  }
}

TEST(Decoder, RejectsSpansWhoseIdsAreNoneAndKeepsTheRest) {
  Request request = simple_request(6);
  auto& spans = *request.mutable_resource_spans(0)->mutable_scope_spans(0)->mutable_spans();
  spans[0].set_trace_id(std::string(16, '\0'));
  spans[1].set_trace_id("short");
  spans[2].set_span_id(std::string(8, '\0'));
  spans[3].clear_span_id();
  spans[4].set_parent_span_id("ninebytes");
  Decoded decoded = decode(request);
  EXPECT_EQ(decoded.accepted_spans, 1u);
  EXPECT_EQ(decoded.rejected_spans, 5u);
  EXPECT_EQ(decoded.rejections[at(Rejection::kTraceId)], 2u);
  EXPECT_EQ(decoded.rejections[at(Rejection::kSpanId)], 2u);
  EXPECT_EQ(decoded.rejections[at(Rejection::kParentSpanId)], 1u);
}

TEST(Decoder, NotesSpansThatEndBeforeTheyStartOrNever) {
  Request request = simple_request(6);
  auto& spans = *request.mutable_resource_spans(0)->mutable_scope_spans(0)->mutable_spans();
  spans[0].set_end_time_unix_nano(spans[0].start_time_unix_nano() - 1);
  spans[1].clear_end_time_unix_nano();
  spans[2].set_end_time_unix_nano(1);
  spans[3].set_end_time_unix_nano(spans[3].start_time_unix_nano());
  spans[4].set_end_time_unix_nano(1);
  spans[4].clear_trace_id();
  Decoded json = decode_json_text(R"({"resourceSpans":[{"scopeSpans":[{"spans":[
      {"traceId":"11111111111111111111111111111101","spanId":"0100000000000000","startTimeUnixNano":"8",
       "endTimeUnixNano":"7"},
      {"traceId":"11111111111111111111111111111101","spanId":"0200000000000000","startTimeUnixNano":8},
      {"traceId":"11111111111111111111111111111101","spanId":"0300000000000000","startTimeUnixNano":8,
       "endTimeUnixNano":1},
      {"traceId":"11111111111111111111111111111101","spanId":"0400000000000000","startTimeUnixNano":8,
       "endTimeUnixNano":"8"},
      {"traceId":"11","spanId":"0500000000000000","startTimeUnixNano":8,"endTimeUnixNano":"1"},
      {"traceId":"11111111111111111111111111111101","spanId":"0600000000000000","startTimeUnixNano":8,
       "endTimeUnixNano":"9"}]}]}]})");
  for (const Decoded& decoded : {decode(request), json}) {
    EXPECT_EQ(decoded.accepted_spans, 5u) << "odd spans are stored";
    EXPECT_EQ(decoded.oddities[at(Oddity::kEndBeforeStart)], 2u) << "the span without an id is not among them";
    EXPECT_EQ(decoded.oddities[at(Oddity::kNoEnd)], 1u);
    size_t instants = 0;
    each_span(decoded,
              [&](const store::Batch&, const store::SpanView& span) { instants += span.duration_nano() == 0; });
    EXPECT_EQ(instants, 4u);
  }
}

TEST(Decoder, RejectsSpansInJsonLikewise) {
  Decoded decoded = decode_json_text(R"({"resourceSpans":[{"scopeSpans":[{"spans":[
      {"traceId":"zz111111111111111111111111111101","spanId":"0100000000000000"},
      {"traceId":"11111111111111111111111111111101","spanId":"01"},
      {"traceId":"11111111111111111111111111111101","spanId":"0100000000000000","parentSpanId":"12"},
      {"traceId":"11111111111111111111111111111101","spanId":"0100000000000000","parentSpanId":""},
      {"traceId":"11111111111111111111111111111101","spanId":"0200000000000000","parentSpanId":null}]}]}]})");
  EXPECT_EQ(decoded.accepted_spans, 2u);
  EXPECT_EQ(decoded.rejections[at(Rejection::kTraceId)], 1u);
  EXPECT_EQ(decoded.rejections[at(Rejection::kSpanId)], 1u);
  EXPECT_EQ(decoded.rejections[at(Rejection::kParentSpanId)], 1u);
}

TEST(Decoder, RefusesMalformedRequestsWhole) {
  std::string body = simple_request(3).SerializeAsString();
  for (std::string_view broken : {std::string_view(body).substr(0, body.size() - 1), std::string_view("\x0a\x05hi"),
                                  std::string_view("\xff\xff\xff")}) {
    Result<Decoded> decoded = decode_protobuf(broken, {}, unlimited());
    ASSERT_FALSE(decoded.ok());
    EXPECT_EQ(decoded.error().code, ErrorCode::kInvalid);
  }
  for (std::string_view broken : {"", "[]", "{", "{\"resourceSpans\":[{]}", "{\"resourceSpans\":7}", "{} x",
                                  R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"name":5}]}]}]})",
                                  R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"-5"}]}]}]})"}) {
    Result<Decoded> decoded = decode_json(broken, {}, unlimited());
    ASSERT_FALSE(decoded.ok()) << broken;
    EXPECT_EQ(decoded.error().code, ErrorCode::kInvalid);
  }
}

TEST(Decoder, EveryTruncationIsRefusedOrShorter) {
  std::string body = full_request().SerializeAsString();
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_EQ(compare_with_protobuf(std::string_view(body).substr(0, size)), "") << size;
  }
  std::string json = full_request_as_json();
  for (size_t size = 0; size < json.size(); ++size) {
    EXPECT_FALSE(decode_json(std::string_view(json).substr(0, size), {}, unlimited()).ok()) << size;
  }
}

TEST(Decoder, AgreesWithProtobufAboutMutations) {
  std::mt19937 random(20261121);
  std::string body = full_request().SerializeAsString() + simple_request(3).SerializeAsString();
  for (int round = 0; round < 20'000; ++round) {
    std::string mutated = body;
    for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips) {
      mutated[random() % mutated.size()] = static_cast<char>(random());
    }
    ASSERT_EQ(compare_with_protobuf(mutated), "") << "round " << round;
  }
}

TEST(Decoder, MergesWhatProtobufMerges) {
  // A resource, a span's status and an attribute's array, each in two parts; two messages after each other are merged.
  Request first = simple_request(1), second = simple_request(0);
  first.mutable_resource_spans(0)->clear_schema_url();
  second.mutable_resource_spans(0)->mutable_resource()->mutable_attributes(0)->set_key("host");
  std::string body;
  std::string parts = first.resource_spans(0).SerializeAsString() + second.resource_spans(0).SerializeAsString();
  Request merged;
  ASSERT_TRUE(merged.add_resource_spans()->ParseFromString(parts));
  EXPECT_EQ(merged.resource_spans(0).resource().attributes_size(), 2);
  body.push_back('\x0a');
  ASSERT_LT(parts.size(), 128u * 128u);
  body.push_back(static_cast<char>(0x80 | (parts.size() & 0x7f)));
  body.push_back(static_cast<char>(parts.size() >> 7));
  body += parts;
  Result<Decoded> decoded = decode_protobuf(body, {}, unlimited());
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->batches.at(0)->identity(), decode(merged).batches.at(0)->identity());
}

// [[[...]]] as an attribute.
void nest(ProtoValue* value, unsigned depth) {
  for (; depth > 0; --depth) value = value->mutable_array_value()->add_values();
}

TEST(Decoder, DropsAttributesThatAreNestedTooDeeply) {
  Request request = simple_request(1);
  nest(first_span(request).add_attributes()->mutable_value(), kMaxValueDepth);
  nest(first_span(request).add_attributes()->mutable_value(), kMaxValueDepth + 1);
  Decoded decoded = decode(request);
  EXPECT_EQ(decoded.accepted_spans, 1u);
  EXPECT_EQ(decoded.losses[at(Loss::kAttributeDepth)], 1u);
  each_span(decoded, [](const store::Batch&, const store::SpanView& span) {
    EXPECT_EQ(span.attributes.size(), 2u);
    EXPECT_EQ(span.dropped_attributes_count, 1u);
    EXPECT_EQ(span.attributes[1].value.text.substr(0, kMaxValueDepth), std::string(kMaxValueDepth, '['));
  });
}

std::string json_span_with_value(const std::string& value) {
  return R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"11111111111111111111111111111101",
      "spanId":"0100000000000000","attributes":[{"key":"k","value":)" +
         value + "}]}]}]}]}";
}

TEST(Decoder, DropsJsonAttributesThatAreNestedTooDeeply) {
  std::string value = "{}";
  for (unsigned depth = 0; depth < kMaxValueDepth; ++depth) value = R"({"arrayValue":{"values":[)" + value + "]}}";
  EXPECT_EQ(decode_json_text(json_span_with_value(value)).losses[at(Loss::kAttributeDepth)], 0u);
  value = R"({"arrayValue":{"values":[)" + value + "]}}";
  Decoded decoded = decode_json_text(json_span_with_value(value));
  EXPECT_EQ(decoded.losses[at(Loss::kAttributeDepth)], 1u);
  EXPECT_EQ(decoded.accepted_spans, 1u);
}

TEST(Decoder, RefusesJsonValuesOfTwoTypes) {
  std::string body = json_span_with_value(R"({"stringValue":"a","intValue":1})");
  EXPECT_FALSE(decode_json(body, {}, unlimited()).ok());
}

TEST(Decoder, RepairsTextThatIsNotUtf8) {
  Decoded decoded = decode_json_text(json_span_with_value("{\"stringValue\":\"a\xff\"}"));
  EXPECT_EQ(decoded.losses[at(Loss::kTextRepaired)], 1u);
  each_span(decoded, [](const store::Batch&, const store::SpanView& span) {
    EXPECT_EQ(span.attributes[0].value.text, "a\xef\xbf\xbd");
  });
  std::string body = simple_request(1).SerializeAsString();
  body[body.find("GET /cart")] = '\xff';
  Result<Decoded> protobuf = decode_protobuf(body, {}, unlimited());
  ASSERT_TRUE(protobuf.ok());
  EXPECT_EQ(protobuf->losses[at(Loss::kTextRepaired)], 1u);
  each_span(*protobuf, [](const store::Batch&, const store::SpanView& span) {
    EXPECT_EQ(span.name,
              "\xef\xbf\xbd"
              "ET /cart");
  });
}

TEST(Decoder, CountsRepairsWithinNestedValues) {
  std::string body = full_request().SerializeAsString();
  body[body.find("nothing")] = '\xff';
  Result<Decoded> decoded = decode_protobuf(body, {}, unlimited());
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->losses[at(Loss::kTextRepaired)], 1u);
}

TEST(Decoder, AppliesLimitsAndSaysSoInTheSpan) {
  store::BatchLimits limits{.attributes_per_span = 2, .events_per_span = 1, .links_per_span = 1};
  Request request = full_request();
  ProtoSpan& span = first_span(request);
  *span.add_events() = span.events(0);
  *span.add_links() = span.links(0);
  Decoded decoded = decode(request, limits);
  EXPECT_EQ(decoded.losses[at(Loss::kAttributeLimit)], 5u);
  EXPECT_EQ(decoded.losses[at(Loss::kEventLimit)], 1u);
  EXPECT_EQ(decoded.losses[at(Loss::kLinkLimit)], 1u);
  each_span(decoded, [](const store::Batch&, const store::SpanView& view) {
    EXPECT_EQ(view.attributes.size(), 2u);
    EXPECT_EQ(view.dropped_attributes_count, 16u);
    EXPECT_EQ(view.dropped_events_count, 13u);
    EXPECT_EQ(view.dropped_links_count, 14u);
  });
  Decoded json = decode_json_text(full_request_as_json(), limits);
  EXPECT_EQ(json.losses[at(Loss::kAttributeLimit)], 5u);
}

// What an agent says of a text that its program cut.
TEST(Decoder, TextsMayBeCutAlready) {
  Request request = full_request();
  ProtoSpan& span = first_span(request);
  span.clear_attributes();
  auto add = [&span](const std::string& key) {
    auto* attribute = span.add_attributes();
    attribute->set_key(key);
    return attribute->mutable_value();
  };
  ProtoValue* cut = add("cut");
  cut->set_string_value("the beginn");
  cut->set_fathom_cut(true);
  ProtoValue* whole = add("whole");
  whole->set_string_value("all");
  whole->set_fathom_cut(false);
  ProtoValue* number = add("number");
  number->set_int_value(3);
  number->set_fathom_cut(true);
  each_span(decode(request), [](const store::Batch&, const store::SpanView& view) {
    ASSERT_EQ(view.attributes.size(), 3u);
    EXPECT_EQ(view.attributes[0].value.type, ValueType::kCut);
    EXPECT_EQ(view.attributes[0].value.text, "the beginn");
    EXPECT_EQ(view.attributes[1].value.type, ValueType::kString);
    EXPECT_EQ(view.attributes[2].value.type, ValueType::kInt) << "only texts have an end that can be missing";
  });
}

TEST(Decoder, CutsLongTextsOfEveryKindAlike) {
  store::BatchLimits limits{.bytes_per_value = 10, .bytes_per_name = 5};
  Decoded decoded = decode(full_request(), limits);
  each_span(decoded, [](const store::Batch&, const store::SpanView& span) {
    EXPECT_EQ(span.name, "GET /");
    EXPECT_EQ(span.attributes[5].value.type, ValueType::kCut);
    EXPECT_EQ(span.attributes[5].value.text, "[-5,0.5,\"a");
  });
  EXPECT_EQ(decoded.batches.at(0)->identity(),
            decode_json_text(full_request_as_json(), limits).batches.at(0)->identity());
}

TEST(Decoder, DropsLinksWithoutIds) {
  Request request = full_request();
  first_span(request).mutable_links(0)->set_span_id("short");
  Decoded decoded = decode(request);
  EXPECT_EQ(decoded.losses[at(Loss::kLinkId)], 1u);
  each_span(decoded, [](const store::Batch&, const store::SpanView& span) {
    EXPECT_TRUE(span.links.empty());
    EXPECT_EQ(span.dropped_links_count, 14u);
  });
}

TEST(Decoder, SplitsLargeRequestsTheSameWayEveryTime) {
  store::BatchLimits limits{.spans_per_batch = 100};
  Request request = simple_request(950);
  Decoded once = decode(request, limits), again = decode(request, limits);
  ASSERT_EQ(once.batches.size(), 10u);
  EXPECT_EQ(once.accepted_spans, 950u);
  for (size_t i = 0; i < once.batches.size(); ++i) {
    EXPECT_EQ(once.batches[i]->identity(), again.batches[i]->identity());
    EXPECT_EQ(store::service_name(once.batches[i]->resource(0)), "checkout");
  }
}

TEST(Decoder, EndsWhenMemoryIsRefused) {
  std::string body = simple_request(5000).SerializeAsString();
  uint64_t left = 256 * 1024;
  GrowMemory grow = [&](uint64_t bytes) -> Result<> {
    if (bytes > left) return unavailable("none left");
    left -= bytes;
    return {};
  };
  Result<Decoded> decoded = decode_protobuf(body, {}, grow);
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().code, ErrorCode::kUnavailable);
}

// Hostile shapes: many times more things than bytes could pay for.
TEST(Decoder, ChargesForWhatItHolds) {
  uint64_t charged = 0;
  GrowMemory grow = [&](uint64_t bytes) { return charged += bytes, Result<>(); };
  Request request = simple_request(20'000);
  ASSERT_TRUE(decode_protobuf(request.SerializeAsString(), {}, grow).ok());
  uint64_t held = 0;
  for (const store::BatchPtr& batch : decode(request).batches) held += batch->memory_bytes();
  EXPECT_GE(charged, held);
}

TEST(Decoder, AMillionEmptyAttributesAreAHundredAndTwentyEight) {
  Request request = simple_request(1);
  ProtoSpan& span = first_span(request);
  for (int i = 0; i < 1'000'000; ++i) span.add_attributes();
  Decoded decoded = decode(request);
  EXPECT_EQ(decoded.losses[at(Loss::kAttributeLimit)], 1'000'001u - 128u);
  EXPECT_EQ(decoded.accepted_spans, 1u);
}

}  // namespace
}  // namespace fathom::collector
