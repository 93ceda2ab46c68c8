#include "collector/answer.h"

#include <array>
#include <optional>

#include "base/time.h"
#include "net/json_writer.h"
#include "otlp/trace_service.pb.h"
#include "rpc_status.pb.h"

namespace fathom::collector {

namespace {

namespace otlp = opentelemetry::proto::collector::trace::v1;

constexpr std::string_view kRetryInfoType = "type.googleapis.com/google.rpc.RetryInfo";

struct Row {
  std::string_view label;
  int grpc;
  int http;
};

// In the order of Verdict. The gRPC codes are google.rpc.Code's.
constexpr Row kRows[] = {
    {"ok", 0, 200},
    {"partial", 0, 200},
    {"invalid", 3, 400},
    {"oversized", 8, 413},
    {"unavailable", 14, 503},
    {"not_found", 5, 404},
    {"method", 12, 405},
    {"media_type", 3, 415},
    {"timeout", 14, 503},  // exporters take 408 for final, and 503 for a reason to come again
    {"unimplemented", 12, 501},
    {"unauthenticated", 16, 401},
};
static_assert(std::size(kRows) == kVerdicts);

const Row& row(Verdict verdict) {
  return kRows[static_cast<size_t>(verdict)];
}

// What a google.rpc.Status says here.
struct Failure {
  int code;
  std::string_view message;
  std::optional<uint64_t> retry_delay_nano;
};

Failure failure_of(const Answer& answer) {
  Failure failure{row(answer.verdict).grpc, answer.message, std::nullopt};
  if (asks_for_retry(answer.verdict)) failure.retry_delay_nano = answer.retry_delay_nano;
  return failure;
}

// google.rpc.Code has these for HTTP's classes of errors.
int code_of_http(int status) {
  constexpr int kUnknown = 2, kInvalidArgument = 3, kPermissionDenied = 7, kResourceExhausted = 8, kInternal = 13;
  if (status == 403) return kPermissionDenied;
  if (status == 431) return kResourceExhausted;
  for (const Row& known : kRows) {
    if (known.http == status && known.grpc != 0) return known.grpc;
  }
  if (status >= 400 && status < 500) return kInvalidArgument;
  return status == 500 ? kInternal : kUnknown;
}

std::string success_protobuf(const Answer& answer) {
  if (answer.verdict != Verdict::kPartial) return {};  // a message without fields
  otlp::ExportTraceServiceResponse response;
  response.mutable_partial_success()->set_rejected_spans(static_cast<int64_t>(answer.rejected_spans));
  response.mutable_partial_success()->set_error_message(answer.message);
  return response.SerializeAsString();
}

std::string success_json(const Answer& answer) {
  std::string body;
  net::JsonWriter json(body);
  json.begin_object();
  if (answer.verdict == Verdict::kPartial) {
    json.key("partialSuccess").begin_object();
    json.member("rejectedSpans", std::to_string(answer.rejected_spans)).member("errorMessage", answer.message);
    json.end_object();
  }
  json.end_object();
  return body;
}

std::string failure_protobuf(const Failure& failure) {
  google::rpc::Status status;
  status.set_code(failure.code);
  status.set_message(std::string(failure.message));
  if (failure.retry_delay_nano) {
    google::rpc::RetryInfo info;
    info.mutable_retry_delay()->set_seconds(static_cast<int64_t>(*failure.retry_delay_nano / kNanosPerSecond));
    info.mutable_retry_delay()->set_nanos(static_cast<int32_t>(*failure.retry_delay_nano % kNanosPerSecond));
    google::protobuf::Any& detail = *status.add_details();
    detail.set_type_url(std::string(kRetryInfoType));
    detail.set_value(info.SerializeAsString());
  }
  return status.SerializeAsString();
}

// A protobuf Duration as JSON writes it: "1.500000000s".
std::string duration_text(uint64_t duration_nano) {
  std::string fraction = std::to_string(duration_nano % kNanosPerSecond);
  fraction.insert(0, 9 - fraction.size(), '0');
  return std::to_string(duration_nano / kNanosPerSecond) + "." + fraction + "s";
}

std::string failure_json(const Failure& failure) {
  std::string body;
  net::JsonWriter json(body);
  json.begin_object().member("code", failure.code).member("message", failure.message);
  if (failure.retry_delay_nano) {
    json.key("details").begin_array().begin_object();
    json.member("@type", kRetryInfoType).member("retryDelay", duration_text(*failure.retry_delay_nano));
    json.end_object().end_array();
  }
  json.end_object();
  return body;
}

std::string failure_body(const Failure& failure, Encoding encoding) {
  return encoding == Encoding::kJson ? failure_json(failure) : failure_protobuf(failure);
}

}  // namespace

std::string_view verdict_label(Verdict verdict) {
  return row(verdict).label;
}
bool is_success(Verdict verdict) {
  return row(verdict).grpc == 0;
}
bool asks_for_retry(Verdict verdict) {
  return verdict == Verdict::kUnavailable || verdict == Verdict::kTimeout;
}
int grpc_code(Verdict verdict) {
  return row(verdict).grpc;
}
int http_status(Verdict verdict) {
  return row(verdict).http;
}

uint64_t retry_after_s(const Answer& answer) {
  return (answer.retry_delay_nano + kNanosPerSecond - 1) / kNanosPerSecond;
}

std::string answer_body(const Answer& answer, Encoding encoding) {
  if (!is_success(answer.verdict)) return failure_body(failure_of(answer), encoding);
  return encoding == Encoding::kJson ? success_json(answer) : success_protobuf(answer);
}

std::string http_error_body(int http_status, std::string_view message, Encoding encoding) {
  return failure_body({code_of_http(http_status), message, std::nullopt}, encoding);
}

}  // namespace fathom::collector
