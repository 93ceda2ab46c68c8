// Redaction in both decoders: the same request gives the same redacted batch, and nothing of a secret is in it.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/ingest_metrics.h"
#include "collector/otlp/decoded.h"
#include "collector/testing/requests.h"
#include "redact/redactor.h"

namespace fathom::collector {
namespace {

using namespace testing;
using store::ValueType;
using Rules = std::vector<std::string>;

std::shared_ptr<const Redactor> redactor_of(const Rules& rules) {
  RedactKey key;
  key.bytes.fill(1);
  auto made = Redactor::make(rules, key);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return *made;
}

std::string hash_in_test(std::string_view text) {
  return redactor_of({"hash key k"})->replaced(RedactAction::kHash, RedactValue::of_text(text));
}

Decoded redacted(const Request& request, const Rules& rules, const store::BatchLimits& limits = {}) {
  const auto redactor = redactor_of(rules);
  Result<Decoded> decoded = decode_protobuf(request.SerializeAsString(), limits, unlimited(), {}, redactor.get());
  EXPECT_TRUE(decoded.ok()) << decoded.error().message;
  return decoded.ok() ? *std::move(decoded) : Decoded{};
}

Decoded redacted(std::string_view json, const Rules& rules, const store::BatchLimits& limits = {}) {
  const auto redactor = redactor_of(rules);
  Result<Decoded> decoded = decode_json(json, limits, unlimited(), redactor.get());
  EXPECT_TRUE(decoded.ok()) << decoded.error().message;
  return decoded.ok() ? *std::move(decoded) : Decoded{};
}

// A JSON request of one span with these attributes.
std::string span_with(const std::string& attributes) {
  return R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"11111111111111111111111111111101",
      "spanId":"0100000000000000","attributes":[)" +
         attributes + "]}]}]}]}";
}

// The only attribute's value as text, or "dropped N" of the span.
std::string only_value(const Decoded& decoded) {
  std::string text;
  each_span(decoded, [&](const store::Batch&, const store::SpanView& span) {
    text = span.attributes.empty() ? "dropped " + std::to_string(span.dropped_attributes_count)
                                   : store::value_text(span.attributes[0].value);
  });
  return text;
}

TEST(Redaction, TheSameRequestInBothEncodingsIsTheSameBatch) {
  const Rules sets[] = {{"drop key http.*", "hash key nested", "mask key raw", "hash key ratio", "hash key empty"},
                        {"mask key k", "hash key nothing", "drop key exception.type"},
                        {"hash value [a-z]+", "mask value [0-9]"},
                        {"drop value a"},
                        {"hash key *"},
                        {"mask value ."},
                        {"drop key *", "drop value ."}};
  for (const Rules& rules : sets) {
    const Decoded protobuf = redacted(full_request(), rules), json = redacted(full_request_as_json(), rules);
    ASSERT_EQ(protobuf.batches.size(), 1u);
    ASSERT_EQ(json.batches.size(), 1u);
    EXPECT_EQ(protobuf.batches[0]->encoded(), json.batches[0]->encoded()) << rules[0];
    EXPECT_EQ(protobuf.batches[0]->identity(), json.batches[0]->identity()) << rules[0];
    EXPECT_EQ(protobuf.redacted, json.redacted) << rules[0];
    EXPECT_NE(protobuf.batches[0]->identity(), decode(full_request()).batches[0]->identity()) << rules[0];
  }
}

TEST(Redaction, CoversEveryAttributeListAndText) {
  Request request = full_request();
  const std::string secret = "4111111111111111";
  auto& resource_spans = *request.mutable_resource_spans(0);
  auto& scope_spans = *resource_spans.mutable_scope_spans(0);
  ProtoSpan& span = first_span(request);
  auto hide = [&](auto* attribute) {
    attribute->set_key("card");
    attribute->mutable_value()->set_string_value("no " + secret);
  };
  hide(resource_spans.mutable_resource()->add_attributes());
  hide(scope_spans.mutable_scope()->add_attributes());
  hide(span.add_attributes());
  hide(span.mutable_events(0)->add_attributes());
  hide(span.mutable_links(0)->add_attributes());
  auto* pair = span.add_attributes()->mutable_value()->mutable_kvlist_value()->add_values();
  pair->set_key("inner");
  pair->mutable_value()->set_int_value(4111111111111111);
  span.add_attributes()->mutable_value()->set_bytes_value("\xff" + secret);
  span.set_name("pay " + secret);
  span.mutable_status()->set_message("refused " + secret);
  span.set_trace_state("card=" + secret);
  span.mutable_events(0)->set_name("event " + secret);
  span.mutable_links(0)->set_trace_state("card=" + secret);
  scope_spans.mutable_scope()->set_name("scope " + secret);
  scope_spans.mutable_scope()->set_version(secret);
  scope_spans.set_schema_url("https://" + secret);
  resource_spans.set_schema_url("https://" + secret);
  ASSERT_NE(decode(request).batches.at(0)->encoded().find(secret), std::string::npos);
  for (const char* action : {"mask", "hash", "drop"}) {
    const Decoded decoded = redacted(request, {std::string(action) + " value [0-9]{13,19}"});
    EXPECT_EQ(decoded.batches.at(0)->encoded().find(secret), std::string::npos) << action;
    // 7 attributes and 9 texts; and the attribute `retries`, whose number has 19 digits.
    EXPECT_EQ(decoded.redacted[0] + decoded.redacted[1] + decoded.redacted[2], 17u) << action;
  }
  each_span(redacted(request, {"drop value [0-9]{13,19}"}), [](const store::Batch& batch, const store::SpanView& view) {
    EXPECT_EQ(view.name, "[masked]");
    EXPECT_EQ(view.status_message, "[masked]");
    EXPECT_EQ(view.dropped_attributes_count, 11u + 4u);
    EXPECT_EQ(batch.resource(0).dropped_attributes_count, 8u);
    EXPECT_EQ(view.events[0].dropped_attributes_count, 4u);
    EXPECT_EQ(view.links[0].dropped_attributes_count, 5u);
  });
}

TEST(Redaction, KeysStayAsTheyAre) {
  EXPECT_EQ(only_value(redacted(span_with(R"({"key":"4111111111111111","value":{"stringValue":"v"}})"),
                                {"mask value [0-9]{13,19}"})),
            "v");
}

TEST(Redaction, MembersMatchByKeyOrPath) {
  const std::string body = span_with(R"({"key":"user","value":{"kvlistValue":{"values":[
      {"key":"name","value":{"stringValue":"ann"}},
      {"key":"card","value":{"kvlistValue":{"values":[{"value":{"intValue":"41"},"key":"number"}]}}},
      {"key":"all","value":{"arrayValue":{"values":[{"kvlistValue":{"values":[{"key":"pin","value":{"intValue":1}}]}}]}}}
      ]}}})");
  EXPECT_EQ(only_value(redacted(body, {"drop key name"})), R"({"card":{"number":41},"all":[{"pin":1}]})");
  EXPECT_EQ(only_value(redacted(body, {"mask key user.card.number", "drop key card.number", "mask key user.all.pin"})),
            R"({"name":"ann","card":{"number":"[masked]"},"all":[{"pin":"[masked]"}]})");
  EXPECT_EQ(only_value(redacted(body, {"hash key card", "mask key all"})),
            R"({"name":"ann","card":")" + hash_in_test(R"({"number":41})") + R"(","all":"[masked]"})");
  EXPECT_EQ(only_value(redacted(body, {"mask key user"})), "[masked]");
  EXPECT_EQ(only_value(redacted(body, {"drop key user"})), "dropped 1");
  EXPECT_EQ(only_value(redacted(body, {"mask value ^41$"})),
            R"({"name":"ann","card":{"number":"[masked]"},"all":[{"pin":1}]})");
  EXPECT_EQ(only_value(redacted(body, {"drop value ^41$"})), "dropped 1");
}

// What a limit cuts off must not hide the rest of a match.
TEST(Redaction, ComesBeforeLimits) {
  const store::BatchLimits limits{.bytes_per_value = 8, .bytes_per_name = 8};
  const std::string long_text(100, 'x');
  Request request = simple_request(1);
  ProtoSpan& span = first_span(request);
  span.mutable_attributes(0)->mutable_value()->set_string_value("secret" + long_text + "end");
  span.set_name("secret" + long_text + "end");
  const Rules rules = {"mask value secretx*end"};
  each_span(redacted(request, rules, limits), [](const store::Batch&, const store::SpanView& view) {
    EXPECT_EQ(view.name, "[masked]");
    EXPECT_EQ(view.attributes[0].value.text, "[masked]");
    EXPECT_EQ(view.attributes[0].value.type, ValueType::kString);
  });
  for (const char* value : {R"({"stringValue":"\u0073ecret)", R"({"arrayValue":{"values":[{"stringValue":"secret)"}) {
    const bool is_nested = std::string_view(value).find("array") != std::string_view::npos;
    const std::string body =
        span_with(R"({"key":"k","value":)" + std::string(value) + long_text + "end\"" + (is_nested ? "}]}}}" : "}}"));
    EXPECT_EQ(only_value(redacted(body, rules, limits)), is_nested ? "[\"[maske" : "[masked]");
  }
  // Replacements are cut like everything else.
  EXPECT_EQ(only_value(redacted(request, {"hash key user"}, limits)),
            "hmac:" + hash_in_test("secret" + long_text + "end").substr(5, 3));
}

TEST(Redaction, ReadsAValueThatStandsBeforeItsKey) {
  const Rules rules = {"mask key secret"};
  EXPECT_EQ(only_value(redacted(span_with(R"({"value":{"intValue":5},"key":"secret"})"), rules)), "[masked]");
  EXPECT_EQ(only_value(redacted(span_with(R"({"value":{"intValue":5},"key":"open"})"), rules)), "5");
  EXPECT_EQ(only_value(redacted(span_with(R"({"key":"secret"})"), rules)), "[masked]");
  EXPECT_EQ(only_value(redacted(span_with(R"({"key":"m","value":{"kvlistValue":{"values":[
      {"value":{"intValue":5},"key":"\u0073ecret"},{"key":"secret"}]}}})"),
                                rules)),
            R"({"secret":"[masked]","secret":"[masked]"})");
  // With two keys, a rule could be evaded.
  const auto redactor = redactor_of(rules);
  for (const char* attribute : {R"({"key":"open","value":{"intValue":5},"key":"secret"})",
                                R"({"key":"m","value":{"kvlistValue":{"values":[{"key":"a","key":"secret"}]}}})"}) {
    EXPECT_FALSE(decode_json(span_with(attribute), {}, unlimited(), redactor.get()).ok()) << attribute;
  }
}

TEST(Redaction, SearchesTextsThatAreNotUtf8AsTheyAreStored) {
  Request request = simple_request(1);
  std::string body = request.SerializeAsString();
  body[body.find("GET /cart") + 1] = '\xff';
  const auto redactor = redactor_of({"mask value G.*t"});
  const auto decoded = decode_protobuf(body, {}, unlimited(), {}, redactor.get());
  ASSERT_TRUE(decoded.ok());
  each_span(*decoded, [](const store::Batch&, const store::SpanView& span) { EXPECT_EQ(span.name, "[masked]"); });
  EXPECT_EQ(decoded->losses[static_cast<size_t>(Loss::kTextRepaired)], 1u);
}

TEST(Redaction, ACutTextStaysCut) {
  Request request = simple_request(1);
  auto* value = first_span(request).mutable_attributes(0)->mutable_value();
  value->set_string_value("card 4111111111111111 of th");
  value->set_fathom_cut(true);
  each_span(redacted(request, {"mask value [0-9]{13,19}"}), [](const store::Batch&, const store::SpanView& span) {
    EXPECT_EQ(span.attributes[0].value.text, "card [masked] of th");
    EXPECT_EQ(span.attributes[0].value.type, ValueType::kCut);
  });
}

TEST(Redaction, HostileNestingStaysBounded) {
  const Rules rules = {"hash key secret", "mask key a.b.*", "mask value [0-9]{13}"};
  const auto redactor = redactor_of(rules);
  for (const unsigned depth : {8u, 33u, 200u}) {
    std::string value = "{}";
    for (unsigned i = 0; i < depth; ++i) {
      value =
          R"({"kvlistValue":{"values":[{"value":)" + value + R"(,"key":")" + (i % 2 == 0 ? "secret" : "b") + "\"}]}}";
    }
    const auto decoded =
        decode_json(span_with(R"({"value":)" + value + R"(,"key":"a"})"), {}, unlimited(), redactor.get());
    ASSERT_TRUE(decoded.ok() || depth > kMaxValueDepth) << decoded.error().message;
    EXPECT_TRUE(!decoded.ok() || decoded->accepted_spans == 1);
  }
  // Long keys, whose paths every member below would have to be matched with.
  Request request = simple_request(1);
  ProtoValue* below = first_span(request).mutable_attributes(0)->mutable_value();
  for (int i = 0; i < 20; ++i) {
    auto* pair = below->mutable_kvlist_value()->add_values();
    pair->set_key(std::string(100'000, 'k'));
    below = pair->mutable_value();
  }
  for (int i = 0; i < 10'000; ++i) below->mutable_kvlist_value()->add_values()->set_key("x");
  EXPECT_EQ(redacted(request, rules).accepted_spans, 1u);
}

TEST(Redaction, IsCounted) {
  const Decoded decoded = redacted(full_request(), {"drop key http.route", "hash key k", "mask value stock"});
  EXPECT_EQ(decoded.redacted, (RedactCounts{1, 1, 1}));
  const uint64_t before = counted("fathom_redacted_total", "action=\"hash\"");
  IngestMetrics().account(decoded);
  EXPECT_EQ(counted("fathom_redacted_total", "action=\"hash\""), before + 1);
}

TEST(Redaction, MayRenameAService) {
  for (const auto& [rule, service] :
       {std::pair("mask key service.name", "[masked]"), std::pair("drop key service.name", "unknown_service")}) {
    each_span(redacted(full_request(), {rule}), [&](const store::Batch& batch, const store::SpanView&) {
      EXPECT_EQ(store::service_name(batch.resource(0)), service);
    });
  }
}

}  // namespace
}  // namespace fathom::collector
