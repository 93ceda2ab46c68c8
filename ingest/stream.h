// What agents and the collector say to each other about spans, captures and themselves, as plain values.
//
// Purpose: the words of proto/ingest.proto's stream (docs/formats/ingest-stream.md); control.h has those of requests.
// Thread safety: plain values. Ownership: the views of a Batch and of a CapturePart point into the message that was
// parsed. Units: in names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/capture_trigger.h"
#include "base/clock_offset.h"
#include "base/ids.h"
#include "base/sha256.h"
#include "base/skip_reason.h"
#include "ingest/control.h"

namespace fathom::ingest {

inline constexpr uint32_t kProtocolVersion = 1;

using NodeKey = Id<32>;                                        // the secret of a node; zero: none
using InstanceId = Id<16>;                                     // new with every start of an agent
using BatchIdentity = Id<16>;                                  // the same whenever the same spans are sent again
using Losses = std::vector<std::pair<std::string, uint64_t>>;  // reason, count

// ---- from agents

struct Hello {
  uint32_t protocol_version = kProtocolVersion;
  NodeId node_id;
  InstanceId instance_id;
  std::string host_name;
  std::string agent_version;
  bool takes_requests = false;            // it answers the requests of control.h
  bool captures_off = false;              // it runs with --no-captures
  bool reports_skipped_captures = false;  // it sends SkippedCaptures; older agents do not set this
  uint64_t slowest_period_nano = 0;       // it captures the slowest requests of each such period; 0: unknown
  NodeKey node_key;                       // older agents have none
  bool takes_redaction_rules = false;     // it applies RedactionRules
};

struct Batch {
  uint64_t sequence = 0;
  BatchIdentity identity;
  std::optional<ClockOffset> clock;  // nothing: not measured yet
  std::string_view otlp;             // an ExportTraceServiceRequest
};

struct ClockProbe {
  uint64_t sent_unix_nano = 0;
};

struct NodeStatus {
  uint32_t programs = 0;
  std::optional<ClockOffset> clock;
  uint64_t clock_measured_unix_nano = 0;
  uint64_t spool_bytes = 0;
  uint64_t spool_limit_bytes = 0;
  uint64_t acknowledged_spans = 0;
  uint64_t resident_bytes = 0;
  Losses losses;  // since the agent began
};

// Announces a capture: all of it but the content.
struct CaptureBegin {
  CaptureId id;
  TraceId trace_id;  // zero: of no trace
  SpanId span_id;    // of the span that was the reason; zero: none
  CaptureTrigger trigger = CaptureTrigger::kRequested;
  std::string service;
  uint32_t pid = 0;
  std::string operation;
  uint64_t start_unix_nano = 0;  // of the agent's clock
  uint64_t end_unix_nano = 0;
  std::optional<ClockOffset> clock;
  bool crosses_clock_jump = false;
  bool truncated = false;
  Losses losses;
  uint64_t size_bytes = 0;
  Sha256 sha256;                      // of the content; zero: not computed
  bool content_is_stored = false;     // the content was sent as another capture's: no parts follow
  std::string redaction_fingerprint;  // of the RedactionRules that were applied to all of it; empty: none were
};

// A request that may be among the slowest of its period, so other nodes shall hold captures of its trace.
struct SlowTrace {
  TraceId trace_id;
  std::string operation;
  uint64_t hold_nano = 0;        // for how long
  uint64_t start_unix_nano = 0;  // of the request's capture, by the agent's clock; 0: unknown
  uint64_t end_unix_nano = 0;
  std::optional<ClockOffset> clock;
};

// A trace that triggered a capture which the agent does not have.
struct SkippedCapture {
  TraceId trace_id;
  SpanId span_id;  // of the span that triggered it; zero: none
  CaptureTrigger trigger = CaptureTrigger::kRequested;
  SkipReason reason = SkipReason::kRate;  // 0: a reason that this version does not know
  std::string service;
  uint32_t pid = 0;
  std::string operation;
  uint64_t skipped_unix_nano = 0;  // of the agent's clock
  bool operator==(const SkippedCapture&) const = default;
};
using SkippedCaptures = std::vector<SkippedCapture>;

struct CapturePart {
  CaptureId id;
  uint64_t offset = 0;
  std::string_view content;
};

// ---- from the collector

struct Welcome {
  std::string collector_version;
  uint64_t max_batch_bytes = 0;
  uint64_t max_unacknowledged_bytes = 0;
  uint32_t max_unacknowledged_batches = 0;
  uint64_t max_capture_bytes = 0;  // 0: takes none
  uint64_t max_capture_bytes_under_way = 0;
  bool shares_capture_contents = false;  // the collector accepts content_is_stored in CaptureBegin
};

struct Ack {
  enum class Outcome : uint8_t { kDurable, kRetry, kRefused };
  uint64_t sequence = 0;
  Outcome outcome = Outcome::kDurable;
  uint64_t retry_after_nano = 0;
  std::string message;
  uint64_t rejected_spans = 0;
};

struct ClockReply {
  uint64_t probe_sent_unix_nano = 0;
  uint64_t received_unix_nano = 0;
  uint64_t sent_unix_nano = 0;
};

struct CaptureProgress {
  enum class State : uint8_t { kTaken, kDurable, kRetry, kRefused };
  CaptureId id;
  State state = State::kRetry;
  uint64_t taken_bytes = 0;
  uint64_t retry_after_nano = 0;
  std::string message;
};

}  // namespace fathom::ingest
