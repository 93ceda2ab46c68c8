// What the sender of an OTLP request is told, and the bytes that say so: one answer for gRPC, protobuf and JSON.
//
// Purpose: OTLP's table of outcomes, once. Thread safety: pure functions. The source: OTLP's specification, "Full
// success", "Partial success", "Failures"; google.rpc's Status and RetryInfo.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fathom::collector {

enum class Encoding : uint8_t { kProtobuf, kJson };

enum class Verdict : uint8_t {
  kOk,
  kPartial,      // what was not rejected is stored
  kInvalid,      // never to be repeated
  kOversized,    // never to be repeated
  kUnavailable,  // to be repeated after a delay
  kNotFound,     // HTTP only, as are the next three
  kMethod,
  kMediaType,
  kTimeout,        // to be repeated after a delay
  kUnimplemented,  // gRPC only: a call that is not served
  kUnauthenticated,
};
inline constexpr size_t kVerdicts = static_cast<size_t>(Verdict::kUnauthenticated) + 1;

struct Answer {
  Verdict verdict = Verdict::kOk;
  std::string message;
  uint64_t rejected_spans = 0;    // kPartial
  uint64_t retry_delay_nano = 0;  // where asks_for_retry()
};

std::string_view verdict_label(Verdict verdict);  // the `result` in metrics
bool is_success(Verdict verdict);
bool asks_for_retry(Verdict verdict);
int grpc_code(Verdict verdict);
int http_status(Verdict verdict);
// Whole seconds, rounded up: what Retry-After holds.
uint64_t retry_after_s(const Answer& answer);

// An ExportTraceServiceResponse, or a google.rpc.Status with RetryInfo where a retry is asked for.
std::string answer_body(const Answer& answer, Encoding encoding);
// The google.rpc.Status of an error that HTTP has a status for and OTLP no verdict.
std::string http_error_body(int http_status, std::string_view message, Encoding encoding);

}  // namespace fathom::collector
