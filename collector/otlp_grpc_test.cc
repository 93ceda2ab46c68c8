// OTLP over gRPC, with gRPC's own client.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include "base/time.h"
#include "collector/collector.h"
#include "collector/testing/fake_store.h"
#include "collector/testing/requests.h"
#include "net/gzip.h"
#include "net/testing/raw_client.h"
#include "otlp/trace_service.grpc.pb.h"
#include "rpc_status.pb.h"

namespace fathom::collector {
namespace {

using namespace testing;
using opentelemetry::proto::collector::trace::v1::TraceService;
using Response = opentelemetry::proto::collector::trace::v1::ExportTraceServiceResponse;

// The preface and empty settings: a connection that asks for nothing.
const std::string kHttp2Start("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", 33);

class OtlpGrpcTest : public ::testing::Test {
 protected:
  void start(CollectorOptions options = {}) {
    options.otlp_grpc_address = "127.0.0.1:0";
    options.otlp_http_address = "";
    collector_ = std::make_unique<Collector>(options, store_);
    Result<CollectorAddresses> addresses = collector_->start();
    ASSERT_TRUE(addresses.ok()) << addresses.error().message;
    address_ = addresses->otlp_grpc;
    channel_ = connect();
  }
  std::shared_ptr<grpc::Channel> connect(grpc_compression_algorithm compression = GRPC_COMPRESS_NONE) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxSendMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    arguments.SetCompressionAlgorithm(compression);
    return grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), arguments);
  }
  grpc::Status send(const Request& request, Response* response = nullptr) { return send(channel_, request, response); }
  static grpc::Status send(const std::shared_ptr<grpc::Channel>& channel, const Request& request,
                           Response* response = nullptr) {
    grpc::ClientContext context;
    Response unused;
    return TraceService::NewStub(channel)->Export(&context, request, response == nullptr ? &unused : response);
  }
  // One unary call with any bytes as its message.
  grpc::Status call(const std::string& method, const std::string& message, std::string* reply = nullptr) {
    return call(channel_, method, message, reply);
  }
  static grpc::Status call(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                           const std::string& message, std::string* reply = nullptr) {
    grpc::GenericStub stub(channel);
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
    if (status.ok() && reply != nullptr) *reply = text_of(answer);
    return status;
  }
  static std::string text_of(const grpc::ByteBuffer& buffer) {
    std::vector<grpc::Slice> slices;
    std::string text;
    EXPECT_TRUE(buffer.Dump(&slices).ok());
    for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    return text;
  }
  static std::string health_request(const std::string& service) {
    return service.empty() ? "" : std::string("\x0a") + static_cast<char>(service.size()) + service;
  }
  static uint64_t requests(const char* result) {
    return counted("fathom_otlp_requests_total", std::string("transport=\"grpc\",result=\"") + result + "\"");
  }

  static constexpr const char* kExport = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

  FakeStore store_;
  std::unique_ptr<Collector> collector_;
  std::string address_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(OtlpGrpcTest, TakesRequests) {
  start();
  Response response;
  grpc::Status status = send(full_request(), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(response.has_partial_success());
  ASSERT_EQ(store_.batches().size(), 1u);
  EXPECT_EQ(store_.batches()[0]->identity(), decode(full_request()).batches.at(0)->identity());
}

TEST_F(OtlpGrpcTest, TakesCompressedRequests) {
  start();
  for (grpc_compression_algorithm algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    auto channel = connect(algorithm);
    grpc::Status status = send(channel, simple_request(1000));
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  EXPECT_EQ(store_.spans(), 2000u);
}

TEST_F(OtlpGrpcTest, TakesLargeRequestsInManySlices) {
  start();
  ASSERT_TRUE(send(simple_request(50'000)).ok());
  EXPECT_EQ(store_.spans(), 50'000u);
}

TEST_F(OtlpGrpcTest, TakesRequestsUpToTheLimitWithTheBudgetOfOne) {
  start();
  Request request = simple_request(100'000);
  uint64_t room = CollectorOptions().max_request_bytes - request.ByteSizeLong() - 1024;
  // Spans of ordinary size would take seconds to build; events with long names, all of them different, weigh as much.
  for (ProtoSpan& span : *request.mutable_resource_spans(0)->mutable_scope_spans(0)->mutable_spans()) {
    span.add_events()->set_name(std::string(room / 100'000 - 24, 'e') +
                                std::to_string(span.start_time_unix_nano() % 100'000));
  }
  ASSERT_LE(request.ByteSizeLong(), CollectorOptions().max_request_bytes);
  ASSERT_GT(request.ByteSizeLong(), CollectorOptions().max_request_bytes - (2 << 20));
  grpc::Status status = send(request);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(OtlpGrpcTest, PartialSuccess) {
  start();
  Request request = simple_request(3);
  first_span(request).set_trace_id("short");
  Response response;
  ASSERT_TRUE(send(request, &response).ok());
  EXPECT_EQ(response.partial_success().rejected_spans(), 1);
  EXPECT_NE(response.partial_success().error_message(), "");
}

TEST_F(OtlpGrpcTest, MalformedIsInvalidArgumentWithDetails) {
  start();
  uint64_t before = requests("invalid");
  grpc::Status status = call(kExport, "\x0a\x05hi");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), 3);
  EXPECT_EQ(requests("invalid"), before + 1);
  std::string reply = "unset";
  EXPECT_TRUE(call(kExport, "", &reply).ok());
  EXPECT_EQ(reply, "");
}

TEST_F(OtlpGrpcTest, OversizedIsResourceExhausted) {
  start({.max_request_bytes = 100'000});
  uint64_t before = requests("oversized");
  EXPECT_EQ(send(simple_request(5000)).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  std::string bomb = net::gzip(std::string(50'000'000, '\0'));
  ASSERT_LT(bomb.size(), 100'000u);
  EXPECT_EQ(call(kExport, bomb).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(requests("oversized"), before + 2);
  EXPECT_TRUE(send(simple_request(10)).ok()) << "nothing else is disturbed";
}

TEST_F(OtlpGrpcTest, OverloadIsUnavailableWithRetryInfo) {
  start({.budget_bytes = 400'000, .retry_delay_nano = 3'000'000'000});
  uint64_t before = requests("unavailable");
  store_.hold();
  grpc::Status held;
  std::thread waiting([&] { held = send(simple_request(500)); });
  store_.wait_for_batches(1);
  grpc::Status status = send(simple_request(2000));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  google::rpc::RetryInfo info;
  ASSERT_EQ(details.details_size(), 1);
  ASSERT_TRUE(info.ParseFromString(details.details(0).value()));
  EXPECT_EQ(info.retry_delay().seconds(), 3);
  EXPECT_EQ(requests("unavailable"), before + 1);
  store_.release();
  waiting.join();
  EXPECT_TRUE(held.ok());
}

TEST_F(OtlpGrpcTest, WhatGrpcCutsOffIsCounted) {
  start({.grpc_buffer_bytes = 8 << 20});
  uint64_t before = counted("fathom_otlp_cut_off_total");
  EXPECT_FALSE(call(kExport, std::string(100 << 20, 'x')).ok());
  // The caller may hear of it before the service does.
  const uint64_t deadline = now_monotonic_nano() + 60 * kNanosPerSecond;
  while (counted("fathom_otlp_cut_off_total") == before && now_monotonic_nano() < deadline) std::this_thread::yield();
  EXPECT_GT(counted("fathom_otlp_cut_off_total"), before);
  EXPECT_TRUE(send(connect(), simple_request(10)).ok()) << "nothing else is disturbed";
}

TEST_F(OtlpGrpcTest, SeveralLargeMessagesAtOnceAreAnsweredNotCutOff) {
  start();
  uint64_t before = counted("fathom_otlp_cut_off_total");
  std::vector<std::thread> senders;
  std::array<grpc::Status, 3> answers;
  for (grpc::Status& answer : answers) {
    senders.emplace_back([&] { answer = call(connect(), kExport, std::string(60 << 20, 'x')); });
  }
  for (std::thread& sender : senders) sender.join();
  for (const grpc::Status& answer : answers) {
    // An unknown field, over and over, is a request without spans; or the budget has no room besides the others. Never
    // is the answer final for want of memory.
    if (answer.ok()) continue;
    EXPECT_EQ(answer.error_code(), grpc::StatusCode::UNAVAILABLE) << answer.error_message();
    EXPECT_NE(answer.error_details(), "") << "it is the collector's own answer: " << answer.error_message();
  }
  EXPECT_EQ(counted("fathom_otlp_cut_off_total"), before);
}

TEST_F(OtlpGrpcTest, ConnectionsEndAtTheirAgeAndSendersLoseNothing) {
  start({.grpc_connection_age_nano = 200'000'000, .grpc_connection_grace_nano = 2'000'000'000});
  net::testing::RawClient idle(address_);
  idle.send(kHttp2Start);
  std::atomic<bool> ended{false};
  std::thread waiting([&] {
    idle.read_all();
    ended = true;
  });
  // Sends over several lives of its own connection, too.
  uint64_t sent = 0, failed = 0, begin = now_monotonic_nano();
  for (; !ended || now_monotonic_nano() - begin < kNanosPerSecond; ++sent) {
    if (grpc::Status status = send(simple_request(1)); !status.ok()) {
      ADD_FAILURE() << status.error_message();
      if (++failed > 10) break;
    }
  }
  EXPECT_LT(now_monotonic_nano() - begin, 15 * kNanosPerSecond) << "the server ended it, not the client's patience";
  waiting.join();
  EXPECT_EQ(store_.spans(), sent);
}

TEST_F(OtlpGrpcTest, CallsUnderWayAreFinishedWhenTheirConnectionComesOfAge) {
  start({.grpc_connection_age_nano = 100'000'000});
  store_.hold();
  grpc::Status status;
  std::thread waiting([&] { status = send(simple_request(3)); });
  store_.wait_for_batches(1);
  // Two later connections, one after the other, are asked to go (GOAWAY), so that this call's has been.
  for (int n = 0; n < 2; ++n) {
    net::testing::RawClient later(address_);
    later.send(kHttp2Start);
    std::string goaway("\x07\x00\x00\x00\x00\x00\x7f\xff\xff\xff", 10);
    EXPECT_NE(later.read_until(goaway).find(goaway), std::string::npos);
  }
  store_.release();
  waiting.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(OtlpGrpcTest, SaysThatItIsHealthy) {
  start();
  std::string reply;
  ASSERT_TRUE(call("/grpc.health.v1.Health/Check", "", &reply).ok());
  EXPECT_EQ(reply, std::string("\x08\x01", 2));  // SERVING
  reply.clear();
  ASSERT_TRUE(call("/grpc.health.v1.Health/Check", health_request(TraceService::service_full_name()), &reply).ok());
  EXPECT_EQ(reply, std::string("\x08\x01", 2));
  EXPECT_EQ(call("/grpc.health.v1.Health/Check", health_request("other")).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(OtlpGrpcTest, TellsWatchersOfItsHealthThatItStops) {
  for (const std::string& service : {std::string(), std::string(TraceService::service_full_name())}) {
    start();
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    void* tag = nullptr;
    bool ok = false;
    auto step = [&] { return queue.Next(&tag, &ok) && ok; };
    auto stream = stub.PrepareCall(&context, "/grpc.health.v1.Health/Watch", &queue);
    stream->StartCall(nullptr);
    ASSERT_TRUE(step());
    std::string request = health_request(service);
    grpc::Slice slice(request);
    stream->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
    ASSERT_TRUE(step());
    grpc::ByteBuffer answer;
    stream->Read(&answer, nullptr);
    ASSERT_TRUE(step());
    EXPECT_EQ(text_of(answer), std::string("\x08\x01", 2)) << service;
    stream->Read(&answer, nullptr);
    std::thread stopping([&] { collector_->stop(30 * kNanosPerSecond); });
    EXPECT_TRUE(step());
    EXPECT_EQ(text_of(answer), std::string("\x08\x02", 2)) << service;  // NOT_SERVING
    context.TryCancel();
    grpc::Status status;
    stream->Finish(&status, nullptr);
    step();
    stopping.join();
  }
}

TEST_F(OtlpGrpcTest, ReflectsItsServices) {
  start();
  grpc::GenericStub stub(channel_);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool ok = false;
  auto stream = stub.PrepareCall(&context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  auto step = [&] { return queue.Next(&tag, &ok) && ok; };
  stream->StartCall(nullptr);
  ASSERT_TRUE(step());
  std::string list_services("\x3a\x00", 2);  // ServerReflectionRequest.list_services, empty
  grpc::Slice slice(list_services);
  stream->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  ASSERT_TRUE(step());
  grpc::ByteBuffer answer;
  stream->Read(&answer, nullptr);
  ASSERT_TRUE(step());
  EXPECT_NE(text_of(answer).find("opentelemetry.proto.collector.trace.v1.TraceService"), std::string::npos);
  context.TryCancel();
  grpc::Status status;
  stream->Finish(&status, nullptr);
  step();
}

TEST_F(OtlpGrpcTest, UnknownMethodsAreUnimplementedAndCounted) {
  start();
  uint64_t before = requests("unimplemented");
  grpc::Status status = call("/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", "any bytes");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_NE(status.error_message().find("MetricsService/Export"), std::string::npos) << status.error_message();
  EXPECT_NE(status.error_message().find(kExport), std::string::npos) << status.error_message();
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), 12);
  EXPECT_EQ(details.message(), status.error_message());
  EXPECT_EQ(call("/" + std::string(4000, 'x'), "").error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(requests("unimplemented"), before + 2);
}

TEST_F(OtlpGrpcTest, ATakenPortIsAnErrorThatNamesIt) {
  start();
  Collector other({.otlp_grpc_address = address_, .otlp_http_address = ""}, store_);
  Result<CollectorAddresses> addresses = other.start();
  ASSERT_FALSE(addresses.ok());
  EXPECT_NE(addresses.error().message.find(address_), std::string::npos);
}

TEST_F(OtlpGrpcTest, StopsWithoutLosingWhatIsUnderWay) {
  start();
  store_.hold();
  grpc::Status held;
  std::thread waiting([&] { held = send(simple_request(5)); });
  store_.wait_for_batches(1);
  std::thread stopping([&] { collector_->stop(30 * kNanosPerSecond); });
  // Once the listener is gone, only the held request keeps the server.
  while (send(connect(), Request()).ok()) std::this_thread::yield();
  store_.release();
  stopping.join();
  waiting.join();
  EXPECT_TRUE(held.ok()) << held.error_message();
}

TEST_F(OtlpGrpcTest, ServesBesidesManyIdleConnections) {
  start();
  std::vector<std::shared_ptr<grpc::Channel>> idle;
  for (int i = 0; i < 100; ++i) {
    idle.push_back(connect());
    ASSERT_TRUE(send(idle.back(), Request()).ok());
  }
  EXPECT_TRUE(send(simple_request(10)).ok());
}

}  // namespace
}  // namespace fathom::collector
