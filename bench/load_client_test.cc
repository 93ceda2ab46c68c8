#include "bench/load_client.h"

#include <gtest/gtest.h>

#include <set>

#include "base/testing/repetitions.h"
#include "base/time.h"
#include "bench/live_load.h"
#include "bench/testing/schedule.h"
#include "bench/testing/scripted_grpc_server.h"
#include "otlp/trace_service.pb.h"

namespace fathom::bench {
namespace {

constexpr int kUnavailable = 14;
constexpr int kInvalidArgument = 3;

ScriptedAnswer accept(size_t) {
  return {};
}

uint64_t distinct_spans(const std::vector<std::string>& requests) {
  std::set<std::string> ids;
  for (const std::string& bytes : requests) {
    opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest request;
    EXPECT_TRUE(request.ParseFromString(bytes));
    for (const auto& span : request.resource_spans(0).scope_spans(0).spans()) ids.insert(span.span_id());
  }
  return ids.size();
}

LoadCounts send_shop(const ScriptedGrpcServer& server, LoadOptions options, uint64_t traces) {
  options.target = server.address();
  Workload workload(Shape::kShop, 1, kTestSchedule);
  Exporters exporters(workload, 0, traces);
  LoadClient client(options);
  send_closed_loop(exporters, client, [](uint64_t) {});
  return client.counts();
}

TEST(LoadClient, DeliversEverySpanOverManyConnections) {
  ScriptedGrpcServer server(accept);
  const uint64_t traces = repetitions(2000);
  LoadCounts counts = send_shop(server, {"", 4, 8}, traces);
  EXPECT_EQ(counts.spans_acked, traces * kPositions);
  EXPECT_EQ(counts.requests_acked, server.requests().size());
  EXPECT_EQ(counts.ack.count(), counts.requests_acked);
  EXPECT_EQ(distinct_spans(server.requests()), traces * kPositions);
  EXPECT_EQ(counts.failed + counts.refused, 0u);
}

TEST(LoadClient, SendsWhatWasRefusedAgain) {
  ScriptedGrpcServer server([](size_t number) { return ScriptedAnswer{number < 5 ? kUnavailable : 0}; });
  LoadCounts counts = send_shop(server, {"", 1, 4}, 1000);
  EXPECT_EQ(counts.refused, 5u);
  EXPECT_EQ(counts.spans_acked, 1000u * kPositions);
  EXPECT_EQ(distinct_spans(server.requests()), 1000u * kPositions);
  EXPECT_GE(counts.ack.max_ms(), 50) << "a refusal must count into the latency of its request";
}

TEST(LoadClient, LeavesWhatWasRefusedWhenTold) {
  ScriptedGrpcServer server([](size_t number) { return ScriptedAnswer{number % 2 == 0 ? kUnavailable : 0}; });
  LoadCounts counts = send_shop(server, {"", 1, 4, false}, 1000);
  EXPECT_GE(counts.refused, 8u);
  EXPECT_EQ(counts.failed, 0u);
  EXPECT_EQ(counts.requests_acked, server.requests().size());
}

TEST(LoadClient, GivesUpOnAServerThatIsGone) {
  std::string gone = ScriptedGrpcServer(accept).address();
  Workload workload(Shape::kShop, 1, kTestSchedule);
  Exporters exporters(workload, 0, 100);
  LoadClient client({gone, 1, 4, true, 200'000'000});
  send_closed_loop(exporters, client, [](uint64_t) {});
  EXPECT_GE(client.counts().failed, 1u);
  EXPECT_EQ(client.counts().spans_acked, 0u);
}

TEST(LoadClient, CountsFinalErrorsAsFailures) {
  ScriptedGrpcServer server([](size_t) { return ScriptedAnswer{kInvalidArgument}; });
  LoadCounts counts = send_shop(server, {"", 1, 4}, 1000);
  EXPECT_GE(counts.failed, 1u);
  EXPECT_EQ(counts.spans_acked, 0u);
  EXPECT_EQ(counts.first_failure, "as scripted");
}

TEST(LoadClient, CountsAPartialSuccessAsAFailure) {
  ScriptedGrpcServer server([](size_t) { return ScriptedAnswer{0, std::string("\x0a\x02\x08\x01", 4)}; });
  LoadCounts counts = send_shop(server, {"", 1, 4}, 1000);
  EXPECT_GE(counts.failed, 1u);
  EXPECT_EQ(counts.first_failure, "a partial success");
}

TEST(LoadClient, MeasuresFromWhenTheRequestWasDue) {
  ScriptedGrpcServer server(accept);
  Workload workload(Shape::kShop, 1, kTestSchedule);
  Exporters exporters(workload, 0, 1);
  LoadClient client({server.address()});
  ExportRequest request;
  ASSERT_TRUE(exporters.next(request));
  client.send(request, now_monotonic_nano() - kNanosPerSecond);
  client.drain();
  EXPECT_GE(client.counts().ack.max_ms(), 1000);
}

TEST(LiveLoad, SendsAllThatItBeganBeforeItStopped) {
  ScriptedGrpcServer server(accept);
  LiveLoad live(server.address(), 1, 200'000);
  while (server.requests().size() < 20) std::this_thread::yield();
  live.stop();
  EXPECT_GT(live.traces(), 20u * kSpansPerRequest / kPositions / 2);
  EXPECT_EQ(live.counts().spans_acked, live.traces() * kPositions);
  EXPECT_EQ(distinct_spans(server.requests()), live.traces() * kPositions);
}

}  // namespace
}  // namespace fathom::bench
