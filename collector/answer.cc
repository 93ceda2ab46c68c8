#include "collector/answer.h"

#include <array>

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
constexpr std::array<Row, kVerdicts> kRows = {{
    {"ok", 0, 200},
    {"partial", 0, 200},
    {"invalid", 3, 400},
    {"oversized", 8, 413},
    {"unavailable", 14, 503},
    {"not_found", 5, 404},
    {"method", 12, 405},
    {"media_type", 3, 415},
    {"timeout", 4, 408},
    {"unimplemented", 12, 501},
}};

const Row& row(Verdict verdict) {
  return kRows[static_cast<size_t>(verdict)];
}

std::string success_protobuf(const Answer& answer) {
  otlp::ExportTraceServiceResponse response;
  if (answer.verdict == Verdict::kPartial) {
    response.mutable_partial_success()->set_rejected_spans(static_cast<int64_t>(answer.rejected_spans));
    response.mutable_partial_success()->set_error_message(answer.message);
  }
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

std::string failure_protobuf(const Answer& answer) {
  google::rpc::Status status;
  status.set_code(row(answer.verdict).grpc);
  status.set_message(answer.message);
  if (answer.verdict == Verdict::kUnavailable) {
    google::rpc::RetryInfo info;
    info.mutable_retry_delay()->set_seconds(static_cast<int64_t>(answer.retry_delay_nano / kNanosPerSecond));
    info.mutable_retry_delay()->set_nanos(static_cast<int32_t>(answer.retry_delay_nano % kNanosPerSecond));
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

std::string failure_json(const Answer& answer) {
  std::string body;
  net::JsonWriter json(body);
  json.begin_object().member("code", row(answer.verdict).grpc).member("message", answer.message);
  if (answer.verdict == Verdict::kUnavailable) {
    json.key("details").begin_array().begin_object();
    json.member("@type", kRetryInfoType).member("retryDelay", duration_text(answer.retry_delay_nano));
    json.end_object().end_array();
  }
  json.end_object();
  return body;
}

}  // namespace

std::string_view verdict_label(Verdict verdict) {
  return row(verdict).label;
}
bool is_success(Verdict verdict) {
  return row(verdict).grpc == 0;
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
  bool json = encoding == Encoding::kJson;
  if (is_success(answer.verdict)) return json ? success_json(answer) : success_protobuf(answer);
  return json ? failure_json(answer) : failure_protobuf(answer);
}

}  // namespace fathom::collector
