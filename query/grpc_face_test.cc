#include "query/grpc_face.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/metrics.h"
#include "base/time.h"
#include "net/gzip.h"
#include "net/testing/raw_client.h"
#include "query.grpc.pb.h"
#include "query/proto_convert.h"
#include "query/query_server.h"
#include "query/testing/sample_captures.h"
#include "query/testing/sample_store.h"

namespace fathom::query {
namespace {

using testing::kMilli;
using testing::kSampleStart;
using testing::kTraces;
using testing::sample_trace_id;

class GrpcFaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto bound = server_.start();
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    stub_ = v1::QueryService::NewStub(grpc::CreateChannel(server_.grpc_address(), grpc::InsecureChannelCredentials()));
  }

  static void set_range(v1::TimeRange* range) {
    range->set_from_unix_nano(kSampleStart);
    range->set_to_unix_nano(kSampleStart + 60'000'000'000);
  }

  testing::SampleStore store_;
  QueryServer server_{QueryOptions{.grpc_address = "127.0.0.1:0"}, store_};
  std::unique_ptr<v1::QueryService::Stub> stub_;
};

TEST_F(GrpcFaceTest, PagesThroughTheSlowest) {
  v1::SlowestRequest request;
  set_range(request.mutable_range());
  request.set_limit(20);
  v1::SlowestResponse first;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->Slowest(&context, request, &first).ok());
  ASSERT_EQ(first.rows_size(), 20);
  EXPECT_EQ(first.rows(0).trace_id(), sample_trace_id(kTraces - 1).view());
  EXPECT_EQ(first.rows(0).duration_nano(), 300 * kMilli);
  request.set_cursor(first.next_cursor());
  v1::SlowestResponse second;
  grpc::ClientContext again;
  ASSERT_TRUE(stub_->Slowest(&again, request, &second).ok());
  EXPECT_EQ(second.rows_size(), 10);
  EXPECT_EQ(second.next_cursor(), "");
  request.set_errors(true);
  grpc::ClientContext wrong;
  EXPECT_EQ(stub_->Slowest(&wrong, request, &second).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(GrpcFaceTest, FiltersReachTheStore) {
  v1::SlowestRequest request;
  set_range(request.mutable_range());
  request.set_by(v1::BY_SPAN);
  request.set_service("gateway");
  request.set_operation("GET /cart");
  auto* condition = request.add_where();
  condition->set_key("tier");
  condition->set_value("gold");
  request.set_min_duration_nano(100 * kMilli);
  request.set_max_duration_nano(200 * kMilli);
  v1::SlowestResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->Slowest(&context, request, &response).ok());
  EXPECT_EQ(response.rows_size(), 6);
}

TEST_F(GrpcFaceTest, GetsATraceAndSaysWhenThereIsNone) {
  v1::TraceRequest request;
  request.set_trace_id(std::string(sample_trace_id(5).view()));
  v1::TraceResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->GetTrace(&context, request, &response).ok());
  EXPECT_NE(response.json().find(sample_trace_id(5).hex()), std::string::npos);
  request.set_trace_id(std::string(16, 'z'));
  grpc::ClientContext none;
  EXPECT_EQ(stub_->GetTrace(&none, request, &response).error_code(), grpc::StatusCode::NOT_FOUND);
  request.set_trace_id("short");
  grpc::ClientContext bad;
  EXPECT_EQ(stub_->GetTrace(&bad, request, &response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

// The range of a request, and a trace whose captures of any time are listed.
TEST_F(GrpcFaceTest, ListsThatMayMissBatchesAreMarked) {
  const store::Loss loss{.first_received_unix_nano = kSampleStart,
                         .last_received_unix_nano = kSampleStart + 1,
                         .most_batches = 0,
                         .earliest_start_unix_nano = kSampleStart,
                         .latest_start_unix_nano = kSampleStart + 1};
  testing::SampleCaptures captures;
  captures.lost = {loss};
  store_.lost = {loss};
  store_.lost[0].most_batches = 3;
  QueryServer server(QueryOptions{.grpc_address = "127.0.0.1:0"}, {store_, &captures});
  ASSERT_TRUE(server.start().ok());
  auto stub = v1::QueryService::NewStub(grpc::CreateChannel(server.grpc_address(), grpc::InsecureChannelCredentials()));
  v1::ServicesRequest services_request;
  set_range(services_request.mutable_range());
  v1::ServicesResponse services;
  grpc::ClientContext c1;
  ASSERT_TRUE(stub->ListServices(&c1, services_request, &services).ok());
  EXPECT_EQ(services.lost_batches().most_batches(), 3u);

  v1::ListCapturesRequest request;
  set_range(request.mutable_range());
  v1::ListCapturesResponse marked, of_trace, unmarked;
  grpc::ClientContext c2;
  ASSERT_TRUE(stub->ListCaptures(&c2, request, &marked).ok());
  EXPECT_EQ(marked.lost_batches().losses(), 1u);
  EXPECT_TRUE(marked.lost_batches().has_most_batches());
  EXPECT_EQ(marked.lost_batches().most_batches(), 0u);
  EXPECT_EQ(marked.lost_batches().first_received_unix_nano(), kSampleStart);
  request.mutable_range()->set_from_unix_nano(kSampleStart + 2);
  grpc::ClientContext c3;
  ASSERT_TRUE(stub->ListCaptures(&c3, request, &unmarked).ok());
  EXPECT_FALSE(unmarked.has_lost_batches());
  request.clear_range();
  request.set_trace_id(std::string(sample_trace_id(1).view()));
  grpc::ClientContext c4;
  ASSERT_TRUE(stub->ListCaptures(&c4, request, &of_trace).ok());
  EXPECT_TRUE(of_trace.has_lost_batches());
}

TEST_F(GrpcFaceTest, ListsAndLatency) {
  v1::ServicesRequest services_request;
  set_range(services_request.mutable_range());
  v1::ServicesResponse services;
  grpc::ClientContext c1;
  ASSERT_TRUE(stub_->ListServices(&c1, services_request, &services).ok());
  ASSERT_EQ(services.services_size(), 2);
  EXPECT_EQ(services.services(0).errors(), 10u);
  EXPECT_EQ(services.counted_from_unix_nano(), services_request.range().from_unix_nano());
  EXPECT_EQ(services.counted_to_unix_nano() % kNanosPerMinute, 0u);

  v1::OperationsRequest operations_request;
  set_range(operations_request.mutable_range());
  operations_request.set_service("catalog");
  v1::OperationsResponse operations;
  grpc::ClientContext c2;
  ASSERT_TRUE(stub_->ListOperations(&c2, operations_request, &operations).ok());
  ASSERT_EQ(operations.operations_size(), 1);
  EXPECT_EQ(operations.operations(0).service_namespace(), "shop");

  v1::AttributeKeysRequest keys_request;
  set_range(keys_request.mutable_range());
  v1::AttributeKeysResponse keys;
  grpc::ClientContext c3;
  ASSERT_TRUE(stub_->ListAttributeKeys(&c3, keys_request, &keys).ok());
  EXPECT_EQ(keys.keys_size(), 3);

  v1::AttributeValuesRequest values_request;
  set_range(values_request.mutable_range());
  v1::AttributeValuesResponse values;
  grpc::ClientContext c4;
  EXPECT_EQ(stub_->ListAttributeValues(&c4, values_request, &values).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  values_request.set_key("tier");
  grpc::ClientContext c5;
  ASSERT_TRUE(stub_->ListAttributeValues(&c5, values_request, &values).ok());
  EXPECT_EQ(values.values_size(), 2);
  values_request.set_service("nobody");
  grpc::ClientContext of_service;
  ASSERT_TRUE(stub_->ListAttributeValues(&of_service, values_request, &values).ok());
  EXPECT_EQ(values.values_size(), 0);

  v1::LatencyRequest latency_request;
  set_range(latency_request.mutable_range());
  latency_request.set_heatmap(true);
  v1::LatencyResponse latency;
  grpc::ClientContext c6;
  ASSERT_TRUE(stub_->Latency(&c6, latency_request, &latency).ok());
  EXPECT_EQ(latency.points(0).count(), 60u);
  EXPECT_GT(latency.points(0).cells_size(), 1);
}

// One unary call with any bytes as its message.
grpc::Status call(const std::string& address, const std::string& method, const std::string& message) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  grpc::GenericStub stub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  grpc::CompletionQueue queue;
  grpc::Slice slice(message);
  auto pending = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(&slice, 1), &queue);
  pending->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  pending->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status;
}

std::string frame(char kind, char flags, char stream, const std::string& payload) {
  auto size = static_cast<char>(payload.size());
  return std::string{0, 0, size, kind, flags, 0, 0, 0, stream} + payload;
}

// What a peer sends that begins HTTP/2 and a call, announces a message of 64 bytes, and sends none of it.
std::string begun_call(const std::string& method) {
  std::string fields;
  for (const auto& [name, value] :
       std::initializer_list<std::pair<std::string, std::string>>{{":method", "POST"},
                                                                  {":scheme", "http"},
                                                                  {":path", method},
                                                                  {":authority", "x"},
                                                                  {"content-type", "application/grpc"},
                                                                  {"te", "trailers"}}) {
    fields += std::string{0, static_cast<char>(name.size())} + name + static_cast<char>(value.size()) + value;
  }
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, "") + frame(1, 4, 1, fields) +
         frame(0, 0, 1, std::string{0, 0, 0, 0, 64});
}

uint64_t refused(const std::string& reason) {
  return counter("fathom_query_refused_total", "", "reason=\"" + reason + "\"").value();
}

constexpr const char* kService = "/fathom.query.v1.QueryService/";

TEST_F(GrpcFaceTest, WhatCannotBeParsedIsInvalidWithWordsAndACount) {
  for (const char* method : {"Slowest", "GetTrace", "ListServices", "ListOperations", "ListAttributeKeys",
                             "ListAttributeValues", "Latency", "ListCaptures", "GetCapture", "GetTimeline"}) {
    uint64_t before = refused("invalid");
    grpc::Status status = call(server_.grpc_address(), std::string(kService) + method, "\xff\xff");
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << method;
    EXPECT_NE(status.error_message().find("not a fathom.query.v1."), std::string::npos) << status.error_message();
    EXPECT_EQ(refused("invalid"), before + 1) << method;
  }
  grpc::Status packed = call(server_.grpc_address(), std::string(kService) + "Slowest", net::gzip("anything"));
  EXPECT_EQ(packed.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(packed.error_message().find("compressed"), std::string::npos);
}

TEST_F(GrpcFaceTest, UnknownMethodsAreNamedAndCounted) {
  uint64_t before = refused("not_found");
  grpc::Status status = call(server_.grpc_address(), std::string(kService) + "Fastest", "");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(
      status.error_message(),
      "there is no /fathom.query.v1.QueryService/Fastest here; questions are asked of fathom.query.v1.QueryService");
  EXPECT_EQ(call(server_.grpc_address(), "/" + std::string(4000, 'x'), "").error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(refused("not_found"), before + 2);
}

TEST_F(GrpcFaceTest, TooLargeAMessageIsRefusedAndCounted) {
  uint64_t before = refused("exhausted");
  for (size_t size : {65'537, 20'000'000}) {
    grpc::Status status = call(server_.grpc_address(), std::string(kService) + "Slowest", std::string(size, 'x'));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(status.error_message(), "the message has " + std::to_string(size) + " bytes; the limit is 65536");
  }
  EXPECT_EQ(refused("exhausted"), before + 2);
  // An unknown field, over and over.
  EXPECT_TRUE(call(server_.grpc_address(), std::string(kService) + "Slowest", std::string(65'536, 'x')).ok());
}

TEST(GrpcFaceAnswers, TakeTheirMemoryFromTheBudgetOfAll) {
  testing::SampleStore store;
  std::string text(16'000, 'x');
  store::AttributeView attributes[] = {{"big", store::ValueView::of_string(text)}};
  store::SpanView span;
  span.trace_id = sample_trace_id(250);
  span.attributes = attributes;
  for (uint64_t n = 0; n < 16; ++n) {
    span.span_id = testing::sample_span_id(n + 1);
    store.add(span, {});
  }
  for (auto [answer_bytes, code] :
       {std::pair{uint64_t{1} << 20, grpc::StatusCode::OK}, {100'000, grpc::StatusCode::RESOURCE_EXHAUSTED}}) {
    QueryServer server({.grpc_address = "127.0.0.1:0", .answer_bytes = answer_bytes}, store);
    ASSERT_TRUE(server.start().ok());
    auto stub =
        v1::QueryService::NewStub(grpc::CreateChannel(server.grpc_address(), grpc::InsecureChannelCredentials()));
    v1::TraceRequest request;
    request.set_trace_id(std::string(span.trace_id.view()));
    v1::TraceResponse response;
    grpc::ClientContext context;
    grpc::Status status = stub->GetTrace(&context, request, &response);
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    while (gauge("fathom_query_answer_bytes", "").value() > 0) std::this_thread::yield();
  }
}

TEST(GrpcFaceConnections, EndWhenTheyAreOldWhateverTheirCallsWaitFor) {
  testing::SampleStore store;
  QueryServer server(
      {.grpc_address = "127.0.0.1:0", .grpc_connection_age_nano = 200 * kMilli, .max_deadline_nano = 200 * kMilli},
      store);
  ASSERT_TRUE(server.start().ok());
  uint64_t before = refused("invalid");
  net::testing::RawClient stuck(server.grpc_address());
  stuck.send(begun_call(std::string(kService) + "Slowest"));
  stuck.read_all();
  while (refused("invalid") == before) std::this_thread::yield();
}

TEST(RangeOf, IsTheLastHourUnlessGiven) {
  constexpr uint64_t kNow = kSampleStart;
  auto asked = range_of({}, kNow);
  ASSERT_TRUE(asked.ok());
  EXPECT_EQ(asked->range.from_unix_nano, kNow - kNanosPerHour);
  EXPECT_EQ(asked->range.to_unix_nano, kNow);
  EXPECT_EQ(range_of({}, kNow + 1)->text, asked->text) << "the same question while the hour moves";
  v1::TimeRange range;
  range.set_from_unix_nano(5);
  EXPECT_EQ(range_of(range, kNow)->range.from_unix_nano, 5u);
  EXPECT_EQ(range_of(range, kNow)->range.to_unix_nano, kNow);
  range.set_from_unix_nano(0);
  range.set_to_unix_nano(9);
  EXPECT_EQ(range_of(range, kNow)->range.from_unix_nano, 0u);
}

TEST_F(GrpcFaceTest, DeadlineAndCancellationReachTheQuery) {
  store_.hold();
  Counter& cancelled = counter("fathom_query_requests_total", "", "query=\"slowest\",result=\"cancelled\"");
  uint64_t before = cancelled.value();
  v1::SlowestRequest request;
  v1::SlowestResponse response;
  grpc::ClientContext context;
  std::thread asking(
      [&] { EXPECT_EQ(stub_->Slowest(&context, request, &response).error_code(), grpc::StatusCode::CANCELLED); });
  store_.wait_until_held(1);
  context.TryCancel();
  asking.join();
  while (cancelled.value() == before) std::this_thread::yield();

  grpc::ClientContext hasty;
  hasty.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  EXPECT_EQ(stub_->Slowest(&hasty, request, &response).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(GrpcFaceTest, StopEndsACallThatDoesNotEndItself) {
  store_.hold();
  std::thread asking([&] {
    v1::SlowestRequest request;
    v1::SlowestResponse response;
    grpc::ClientContext context;
    EXPECT_FALSE(stub_->Slowest(&context, request, &response).ok());
  });
  store_.wait_until_held(1);
  server_.stop(10 * kMilli);
  asking.join();
}

TEST_F(GrpcFaceTest, APortInUseIsAClearError) {
  QueryServer second({.grpc_address = server_.grpc_address()}, store_);
  auto bound = second.start();
  ASSERT_FALSE(bound.ok());
  EXPECT_NE(bound.error().message.find(server_.grpc_address()), std::string::npos);
}

}  // namespace
}  // namespace fathom::query
