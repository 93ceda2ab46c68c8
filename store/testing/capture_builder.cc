#include "store/testing/capture_builder.h"

#include <random>

#include "base/bytes.h"

namespace fathom::store::testing {

namespace {

Id<16> numbered_id(uint64_t high, uint64_t number) {
  std::string bytes;
  append_be64(bytes, high);
  append_be64(bytes, number);
  return *Id<16>::from_bytes(bytes);
}

AppendResult outcome_of(const Error& error) {
  bool again = error.code == ErrorCode::kUnavailable;
  return {again ? AppendOutcome::kRetryable : AppendOutcome::kRejected, error.message, false};
}

}  // namespace

CaptureId test_capture_id(uint64_t number) {
  return numbered_id(0xca, number + 1);
}

NodeId test_node_id(uint64_t number) {
  return numbered_id(0xd0, number + 1);
}

CaptureInfo test_capture(uint64_t number, int64_t start_nano) {
  CaptureInfo info;
  info.id = test_capture_id(number);
  info.trace_id = test_trace_id(number % 7 + 1);
  info.node_id = test_node_id(number % 3);
  info.node_name = "node-" + std::to_string(number % 3);
  info.service = number % 2 ? "cart" : "stock";
  info.pid = static_cast<uint32_t>(100 + number % 4);
  info.trigger = static_cast<CaptureTrigger>(number % kCaptureTriggerNames.size() + 1);
  info.operation = "GET /cart";
  info.span_id = test_span_id(number + 1);
  info.start_unix_nano = kTestNow + static_cast<uint64_t>(start_nano);
  info.end_unix_nano = info.start_unix_nano + kMilli;
  info.clock = ClockOffset{-1500, 20};
  info.losses = {{"overwritten", number}};
  return info;
}

SkippedCapture test_skipped(uint64_t trace, uint64_t number) {
  return {.trace_id = test_trace_id(trace),
          .span_id = test_span_id(number + 1),
          .node_id = test_node_id(1),
          .node_name = "node-1",
          .service = "cart",
          .pid = 101,
          .trigger = CaptureTrigger::kError,
          .reason = skip_reason_of(number % kSkipReasonNames.size() + 1).value(),
          .operation = "GET /cart",
          .skipped_unix_nano = kTestNow + number};
}

std::string test_content(uint64_t seed, size_t size) {
  std::mt19937_64 random(seed);
  std::string content(size + 7, '\0');
  for (size_t at = 0; at < size; at += 8) {
    uint64_t word = random();
    std::memcpy(content.data() + at, &word, std::min<size_t>(8, content.size() - at));
  }
  content.resize(size);
  return content;
}

AppendResult send(CaptureStore& store, const CaptureInfo& info, const std::string& content, size_t piece) {
  Result<std::unique_ptr<CaptureWriter>> writer = store.begin(info);
  if (!writer) return outcome_of(writer.error());
  for (size_t at = 0; at < content.size(); at += piece) {
    Result<> taken = (*writer)->append(at, std::string_view(content).substr(at, piece));
    if (!taken) return outcome_of(taken.error());
  }
  return (*writer)->finish();
}

std::string read_all(CaptureStore& store, const CaptureId& id, size_t piece) {
  std::string content;
  while (true) {
    Result<std::string> some = store.read(id, content.size(), piece);
    if (!some) return "(error) " + std::string(error_code_name(some.error().code));
    if (some->empty()) return content;
    content += *some;
  }
}

}  // namespace fathom::store::testing
