// What a collector asks of an agent, and what an agent sends it beside spans: the seams between the uplink, which
// speaks the stream, and the rest of the agent.
//
// Purpose: plain words for the control messages of proto/ingest.proto. Thread safety: every call, in both directions,
// on the thread that runs the agent's loop. Ownership: plain values; a capture's content is shared until it is durable.
// Errors: none are returned; what a collector asks is checked where it is read (uplink/messages.h), and what cannot be
// done is said in the answer.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/capture_trigger.h"

namespace fathom::agent {

struct OperationThreshold {
  std::string service_namespace;
  std::string service;
  std::string operation;
  uint8_t kind = 0;             // OTLP's
  uint64_t threshold_nano = 0;  // 0: none any more
};

struct CaptureRequest {
  uint64_t request_id = 0;
  CaptureTrigger trigger = CaptureTrigger::kRequested;
  std::array<uint8_t, 16> trace_id{};  // zero: not by trace
  uint32_t pid = 0;                    // 0: not by process
  std::string service;                 // empty: not by service
  uint64_t start_unix_nano = 0;        // of the collector's clock; 0: see proto/ingest.proto
  uint64_t end_unix_nano = 0;
  uint64_t duration_nano = 0;
  std::string reason;
};
struct CaptureAnswer {
  uint64_t request_id = 0;
  std::vector<std::array<uint8_t, 16>> capture_ids;
  std::string skipped;
};

struct TracepointRequest {
  enum class Action : uint8_t { kList, kEnable, kDisable };
  uint64_t request_id = 0;
  Action action = Action::kList;
  std::vector<std::string> patterns;
  uint32_t pid = 0;     // 0: any
  std::string service;  // empty: any
};
// Of programs that run, and that will.
struct TracepointRule {
  bool enables = false;
  std::string pattern;
  std::string service;  // empty: any
};
struct TracepointState {
  std::string name;
  std::string file;
  uint32_t line = 0;
  bool on = false;
};
struct ProgramTracepoints {
  uint32_t pid = 0;
  std::string service;
  std::vector<TracepointState> tracepoints;
};
struct TracepointAnswer {
  uint64_t request_id = 0;
  std::vector<ProgramTracepoints> programs;
  std::string failure;  // empty: none
};

// The agent's half: the uplink calls it. Requests for other nodes never come here.
class ControlHandler {
 public:
  virtual ~ControlHandler() = default;
  // `replaces`: all that were said before are void.
  virtual void thresholds(std::vector<OperationThreshold> operations, bool replaces) = 0;
  virtual void capture(CaptureRequest request, std::function<void(CaptureAnswer)> answer) = 0;
  virtual void tracepoints(TracepointRequest request, std::function<void(TracepointAnswer)> answer) = 0;
  // All that there are: those that were said before and are not among them are void.
  virtual void tracepoint_rules(std::vector<TracepointRule> rules) = 0;
};

struct OutgoingCapture {
  std::array<uint8_t, 16> id{};  // random
  std::array<uint8_t, 16> trace_id{};
  std::array<uint8_t, 8> span_id{};
  CaptureTrigger trigger = CaptureTrigger::kRequested;
  std::string service;
  uint32_t pid = 0;
  std::string operation;
  uint64_t start_unix_nano = 0;  // of this host's CLOCK_REALTIME as it is now
  uint64_t end_unix_nano = 0;
  bool crosses_clock_jump = false;
  bool truncated = false;
  std::vector<std::pair<std::string, uint64_t>> losses;
  std::shared_ptr<const std::string> content;  // capture/encode.h
  std::array<uint8_t, 32> sha256{};            // of the content; zero: not computed
};

enum class CaptureFate {
  kDurable,
  kRefused,   // never will be: dropped, and counted
  kNoRoom,    // the uplink holds too much already: dropped, and counted
  kNotTaken,  // this collector takes no captures: dropped, and counted
};

// The uplink's half. Captures wait in memory (bounded) while the collector is away; they are not spooled.
class CaptureOutbox {
 public:
  virtual ~CaptureOutbox() = default;
  // `done` is called once, later, on the loop; never after the outbox was destroyed.
  virtual void send(OutgoingCapture capture, std::function<void(CaptureFate)> done) = 0;
};

}  // namespace fathom::agent
