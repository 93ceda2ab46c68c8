#include "collector/answer.h"

#include <gtest/gtest.h>

#include "otlp/trace_service.pb.h"
#include "rpc_status.pb.h"

namespace fathom::collector {
namespace {

using Response = opentelemetry::proto::collector::trace::v1::ExportTraceServiceResponse;

TEST(Answer, FullSuccessLeavesPartialSuccessUnset) {
  EXPECT_EQ(answer_body({}, Encoding::kProtobuf), "");
  EXPECT_EQ(answer_body({}, Encoding::kJson), "{}");
}

TEST(Answer, PartialSuccessSaysHowManyAndWhy) {
  Answer answer{Verdict::kPartial, "bad \"ids\"", 3};
  Response response;
  ASSERT_TRUE(response.ParseFromString(answer_body(answer, Encoding::kProtobuf)));
  EXPECT_EQ(response.partial_success().rejected_spans(), 3);
  EXPECT_EQ(response.partial_success().error_message(), "bad \"ids\"");
  EXPECT_EQ(answer_body(answer, Encoding::kJson),
            R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"bad \"ids\""}})");
  EXPECT_EQ(http_status(answer.verdict), 200);
  EXPECT_EQ(grpc_code(answer.verdict), 0);
}

TEST(Answer, OverloadAsksForARetry) {
  Answer answer{Verdict::kUnavailable, "later", 0, 1'500'000'000};
  google::rpc::Status status;
  ASSERT_TRUE(status.ParseFromString(answer_body(answer, Encoding::kProtobuf)));
  EXPECT_EQ(status.code(), 14);
  ASSERT_EQ(status.details_size(), 1);
  EXPECT_EQ(status.details(0).type_url(), "type.googleapis.com/google.rpc.RetryInfo");
  google::rpc::RetryInfo info;
  ASSERT_TRUE(info.ParseFromString(status.details(0).value()));
  EXPECT_EQ(info.retry_delay().seconds(), 1);
  EXPECT_EQ(info.retry_delay().nanos(), 500'000'000);
  EXPECT_EQ(answer_body(answer, Encoding::kJson),
            R"({"code":14,"message":"later","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo",)"
            R"("retryDelay":"1.500000000s"}]})");
  EXPECT_EQ(retry_after_s(answer), 2u);
  EXPECT_EQ(http_status(answer.verdict), 503);
}

TEST(Answer, HttpsOwnErrorsAreStatusesToo) {
  for (auto [http, code] :
       {std::pair{400, 3}, {413, 8}, {417, 3}, {431, 8}, {500, 13}, {501, 12}, {503, 14}, {505, 2}}) {
    google::rpc::Status status;
    ASSERT_TRUE(status.ParseFromString(http_error_body(http, "why", Encoding::kProtobuf)));
    EXPECT_EQ(status.code(), code) << http;
    EXPECT_EQ(status.message(), "why");
  }
  EXPECT_EQ(http_error_body(400, "why", Encoding::kJson), R"({"code":3,"message":"why"})");
}

TEST(Answer, FinalErrorsDoNotAskForOne) {
  for (Verdict verdict : {Verdict::kInvalid, Verdict::kOversized}) {
    google::rpc::Status status;
    ASSERT_TRUE(status.ParseFromString(answer_body({verdict, "no"}, Encoding::kProtobuf)));
    EXPECT_EQ(status.message(), "no");
    EXPECT_EQ(status.code(), grpc_code(verdict));
    EXPECT_EQ(status.details_size(), 0);
  }
  EXPECT_EQ(http_status(Verdict::kInvalid), 400);
  EXPECT_EQ(http_status(Verdict::kOversized), 413);
}

}  // namespace
}  // namespace fathom::collector
