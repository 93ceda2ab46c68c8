#include "bench/workload.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/hash.h"
#include "base/time.h"
#include "bench/exporters.h"
#include "bench/span_encoder.h"
#include "bench/testing/schedule.h"
#include "otlp/trace_service.pb.h"

namespace fathom::bench {
namespace {

using ExportProto = opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest;
using SpanProto = opentelemetry::proto::trace::v1::Span;

struct Sent {
  std::vector<ExportProto> requests;
  std::vector<std::string> bytes;
  uint64_t spans = 0;
  uint64_t size = 0;
};

Sent send_all(const Workload& workload, uint64_t traces) {
  Sent sent;
  Exporters exporters(workload, 0, traces);
  for (ExportRequest request; exporters.next(request);) {
    std::string bytes = std::string(request.head) + std::string(request.body);
    ExportProto proto;
    EXPECT_TRUE(proto.ParseFromString(bytes));
    EXPECT_EQ(proto.resource_spans(0).scope_spans(0).spans_size(), static_cast<int>(request.spans));
    EXPECT_EQ(proto.SerializeAsString(), bytes) << "hand-written bytes are not canonical";
    sent.spans += request.spans;
    sent.size += bytes.size();
    sent.requests.push_back(std::move(proto));
    sent.bytes.push_back(std::move(bytes));
  }
  return sent;
}

const auto& spans_of(const ExportProto& request) {
  return request.resource_spans(0).scope_spans(0).spans();
}

std::string service_of(const ExportProto& request) {
  return request.resource_spans(0).resource().attributes(0).value().string_value();
}

std::map<std::string, std::string> attributes_of(const SpanProto& span) {
  std::map<std::string, std::string> all;
  for (const auto& attribute : span.attributes()) {
    const auto& value = attribute.value();
    all[attribute.key()] = value.has_int_value() ? std::to_string(value.int_value()) : value.string_value();
  }
  return all;
}

template <typename Visit>
void for_each_span(const Sent& sent, Visit visit) {
  for (const ExportProto& request : sent.requests) {
    for (const SpanProto& span : spans_of(request)) visit(service_of(request), span);
  }
}

TEST(Workload, SendsEverySpanOnceInRequestsOf512) {
  Workload workload(Shape::kShop, 1, kTestSchedule);
  Sent sent = send_all(workload, 3000);
  std::set<std::string> ids;
  size_t partial = 0;
  for_each_span(sent, [&](const std::string&, const SpanProto& span) { ids.insert(span.span_id()); });
  for (const ExportProto& request : sent.requests) partial += spans_of(request).size() != kSpansPerRequest;
  EXPECT_EQ(sent.spans, 3000u * kPositions);
  EXPECT_EQ(ids.size(), sent.spans);
  EXPECT_LE(partial, kServices);
}

TEST(Workload, EachServiceSendsByEndTime) {
  Sent sent = send_all(Workload(Shape::kShop, 1, kTestSchedule), 3000);
  std::map<std::string, uint64_t> last_end;
  for_each_span(sent, [&](const std::string& service, const SpanProto& span) {
    EXPECT_GE(span.end_time_unix_nano(), last_end[service]);
    last_end[service] = span.end_time_unix_nano();
  });
  EXPECT_EQ(last_end.size(), kServices);
}

TEST(Workload, IsTheSameEveryTime) {
  std::string all;
  for (const std::string& bytes : send_all(Workload(Shape::kShop, 7, kTestSchedule), 600).bytes) all += bytes;
  std::string again;
  for (const std::string& bytes : send_all(Workload(Shape::kShop, 7, kTestSchedule), 600).bytes) again += bytes;
  EXPECT_EQ(all, again);
  // Pinned: a change of this number is another workload, and needs another name.
  EXPECT_EQ(hash64(all), 3056241380250662567u);
  std::string other;
  for (const std::string& bytes : send_all(Workload(Shape::kShop, 8, kTestSchedule), 600).bytes) other += bytes;
  EXPECT_NE(all, other);
}

TEST(Workload, SpansAreWhatTheFactsSay) {
  Workload workload(Shape::kShop, 3, kTestSchedule);
  std::map<std::string, SpanProto> by_id;
  for_each_span(send_all(workload, 500),
                [&](const std::string&, const SpanProto& span) { by_id[span.span_id()] = span; });
  for (uint64_t index = 0; index < 500; ++index) {
    TraceFacts facts = workload.facts(index);
    auto times = workload.times(facts);
    for (uint32_t position = 0; position < kPositions; ++position) {
      const SpanProto& span = by_id.at(std::string(facts.span_id(position).view()));
      EXPECT_EQ(span.trace_id(), facts.trace_id().view());
      EXPECT_EQ(span.name(), operation_name(facts.route, position));
      EXPECT_EQ(span.start_time_unix_nano(), times[position].start_unix_nano);
      EXPECT_EQ(span.end_time_unix_nano(), times[position].end_unix_nano);
      EXPECT_EQ(attributes_of(span).at("session.id"), session_of(facts));
      EXPECT_EQ(attributes_of(span).at("tenant.tier"), tier_name(facts.tier));
    }
  }
}

TEST(Workload, ParentsContainTheirChildren) {
  Workload workload(Shape::kShop, 3, kTestSchedule);
  uint64_t last_start = 0;
  for (uint64_t index = 0; index < 5000; ++index) {
    auto times = workload.times(workload.facts(index));
    EXPECT_GE(times[0].start_unix_nano, last_start);
    last_start = times[0].start_unix_nano;
    EXPECT_EQ((last_start - kTestSchedule.start_unix_nano) / kTestSchedule.trace_period_nano, index);
    for (uint32_t position = 1; position < kPositions; ++position) {
      const SpanTimes& parent = times[static_cast<size_t>(position_facts(position).parent)];
      EXPECT_GE(times[position].start_unix_nano, parent.start_unix_nano);
      EXPECT_LT(times[position].end_unix_nano, parent.end_unix_nano);
      EXPECT_GT(times[position].end_unix_nano, times[position].start_unix_nano);
    }
  }
}

// What bench/workloads.md states about values.
TEST(Workload, HasTheStatedCardinalities) {
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, std::set<std::string>> sessions_of_trace;
  std::set<std::string> operations;
  uint64_t canaries = 0;
  Sent sent = send_all(Workload(Shape::kShop, 5, kTestSchedule), 6000);
  for_each_span(sent, [&](const std::string& service, const SpanProto& span) {
    EXPECT_EQ(span.attributes_size(), static_cast<int>(kAttributesPerSpan));
    operations.insert(service + "|" + span.name() + "|" + std::to_string(span.kind()));
    auto attributes = attributes_of(span);
    EXPECT_EQ(attributes.size(), kAttributesPerSpan);
    for (const auto& [key, value] : attributes) values[key].insert(value);
    sessions_of_trace[span.trace_id()].insert(attributes["session.id"]);
    canaries += span.parent_span_id().empty() && attributes["tenant.tier"] == "canary";
  });
  EXPECT_EQ(operations.size(), kRoutes * kPositions);
  EXPECT_EQ(values["session.id"].size(), 6000u);
  for (const auto& [trace, sessions] : sessions_of_trace) EXPECT_EQ(sessions.size(), 1u);
  EXPECT_EQ(values["tenant.tier"].size(), 4u);
  EXPECT_EQ(values["http.user_agent"].size(), kAgents);
  EXPECT_EQ(values["net.peer.ip"].size(), kPeers);
  EXPECT_EQ(values["net.host.name"].size(), kServices);
  EXPECT_EQ(values["http.route"].size(), 4 * kRoutes);
  EXPECT_GT(values["http.target"].size(), 10'000u);
  EXPECT_GT(values["net.peer.port"].size(), 15'000u);
  EXPECT_EQ(values["http.status_code"], (std::set<std::string>{"200", "404", "503"}));
  EXPECT_GE(canaries, 1u);
  EXPECT_LE(canaries, 20u);
}

TEST(Workload, OneTraceInAThousandIsCanary) {
  Workload workload(Shape::kShop, 5, kTestSchedule);
  uint64_t canaries = 0;
  for (uint64_t index = 0; index < 1'000'000; ++index) canaries += workload.facts(index).tier == Tier::kCanary;
  EXPECT_NEAR(static_cast<double>(canaries), 1000, 150);
}

TEST(Workload, SpansAreOfTheStatedSize) {
  Sent shop = send_all(Workload(Shape::kShop, 1, kTestSchedule), 4000);
  Sent single = send_all(Workload(Shape::kSingle, 1, kTestSchedule), 32000);
  EXPECT_NEAR(static_cast<double>(shop.size) / static_cast<double>(shop.spans), 418, 1);
  EXPECT_NEAR(static_cast<double>(single.size) / static_cast<double>(single.spans), 410, 1);
}

TEST(Workload, SingleTracesHaveOneRootSpan) {
  Workload workload(Shape::kSingle, 1, kTestSchedule);
  std::set<std::string> traces;
  std::set<std::string> services;
  Sent sent = send_all(workload, 2000);
  for_each_span(sent, [&](const std::string& service, const SpanProto& span) {
    EXPECT_TRUE(span.parent_span_id().empty());
    traces.insert(span.trace_id());
    services.insert(service);
  });
  EXPECT_EQ(traces.size(), 2000u);
  EXPECT_EQ(services.size(), kServices);
}

TEST(Workload, DurationsAreLogNormalWithAHeavyTail) {
  Workload workload(Shape::kShop, 2, kTestSchedule);
  std::vector<uint64_t> durations;
  for (uint64_t index = 0; index < 100'000; ++index)
    durations.push_back(workload.root_times(workload.facts(index)).duration_nano());
  std::sort(durations.begin(), durations.end());
  EXPECT_NEAR(static_cast<double>(durations[50'000]) / 1e6, 25, 5);
  EXPECT_GT(durations[99'990], 1'000'000'000u);
  EXPECT_LT(durations.back(), 1'000 * kNanosPerSecond);
}

TEST(Workload, UuidsAreVersion4) {
  char text[kUuidSize];
  write_uuid(0, 0, text);
  EXPECT_EQ(std::string(text, kUuidSize), "00000000-0000-4000-8000-000000000000");
  write_uuid(UINT64_MAX, UINT64_MAX, text);
  EXPECT_EQ(std::string(text, kUuidSize), "ffffffff-ffff-4fff-bfff-ffffffffffff");
}

}  // namespace
}  // namespace fathom::bench
