// Any bytes as a message of an agent: no fault in memory, and nothing beyond the limits comes out.
#include <cstdint>
#include <cstdlib>

#include "base/utf8.h"
#include "ingest/agent_messages.h"
#include "ingest/limits.h"

namespace {

using namespace fathom::ingest;

void check(bool holds) {
  if (!holds) std::abort();
}

void check_text(const std::string& text, size_t most = kMostTextBytes) {
  check(text.size() <= most && fathom::is_utf8(text));
}

void check_losses(const Losses& losses) {
  check(losses.size() <= kMostLosses);
  for (const auto& [reason, count] : losses) check_text(reason);
}

struct Limits {
  void operator()(const Hello& hello) const {
    check(!hello.node_id.is_zero() && !hello.instance_id.is_zero());
    check_text(hello.host_name);
    check_text(hello.agent_version);
  }
  void operator()(const NodeStatus& status) const { check_losses(status.losses); }
  void operator()(const CaptureBegin& begin) const {
    check(!begin.id.is_zero());
    check_text(begin.service, kMostNameBytes);
    check_text(begin.operation, kMostNameBytes);
    check_losses(begin.losses);
    check(begin.redaction_fingerprint.size() <= kMostFingerprintBytes);
  }
  void operator()(const CapturePart& part) const {
    check(!part.content.empty() && part.content.size() <= kMostCapturePartBytes);
  }
  void operator()(const SlowTrace& trace) const {
    check(!trace.trace_id.is_zero());
    check_text(trace.operation, kMostNameBytes);
  }
  void operator()(const SkippedCaptures& skipped) const {
    check(skipped.size() <= kMostSkippedCaptures);
    for (const SkippedCapture& one : skipped) {
      check(!one.trace_id.is_zero());
      check_text(one.service, kMostNameBytes);
      check_text(one.operation, kMostNameBytes);
    }
  }
  void operator()(const CaptureAnswer& answer) const {
    check(answer.capture_ids.size() <= kMostCaptureIds);
    check_text(answer.skipped);
  }
  void operator()(const TracepointAnswer& answer) const {
    check(answer.programs.size() <= kMostPrograms);
    check_text(answer.failure);
    size_t tracepoints = 0;
    for (const ProgramTracepoints& program : answer.programs) {
      check_text(program.service, kMostNameBytes);
      tracepoints += program.tracepoints.size();
      for (const TracepointState& tracepoint : program.tracepoints) check_text(tracepoint.name);
    }
    check(tracepoints <= kMostTracepoints);
  }
  template <typename Other>
  void operator()(const Other&) const {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto message = parse_agent_message(bytes);
  if (message) std::visit(Limits{}, *message);
  (void)peek_batch(bytes), (void)peek_capture_part(bytes), (void)peek_tracepoint_answer(bytes);
  return 0;
}
