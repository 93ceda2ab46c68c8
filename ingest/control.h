// What a collector tells and asks agents, and what they answer: the words of proto/ingest.proto as plain values.
//
// Purpose: the agent, the collector and the query face use the same words, so they are defined here alone. Thread
// safety: plain values. Errors: none here; agent_messages.h and collector_messages.h check what comes as bytes.
// Units: in names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/capture_trigger.h"
#include "base/ids.h"

namespace fathom::ingest {

using NodeId = Id<16>;     // the same for the life of a host's installation
using CaptureId = Id<16>;  // random, chosen by the agent

struct OperationThreshold {
  std::string service_namespace;
  std::string service;
  std::string operation;
  uint8_t kind = 0;             // OTLP's
  uint64_t threshold_nano = 0;  // 0: none any more
  bool operator==(const OperationThreshold&) const = default;
};
struct Thresholds {
  bool replaces = false;  // all that were said before are void
  std::vector<OperationThreshold> operations;
};

// Whose detail: of a trace, of a process, or of a service.
struct CaptureRequest {
  uint64_t request_id = 0;
  CaptureTrigger trigger = CaptureTrigger::kRequested;
  TraceId trace_id;               // zero: not by trace
  uint32_t pid = 0;               // 0: not by process
  std::string service;            // empty: not by service
  std::optional<NodeId> node_id;  // none: any
  uint64_t start_unix_nano = 0;   // of the collector's clock; 0: as proto/ingest.proto says
  uint64_t end_unix_nano = 0;
  uint64_t duration_nano = 0;
  std::string reason;      // for people
  uint64_t hold_nano = 0;  // hold the capture for so long; send it only on a later request without hold_nano
  bool operator==(const CaptureRequest&) const = default;
};
struct CaptureAnswer {
  uint64_t request_id = 0;
  std::vector<CaptureId> capture_ids;  // that are made, and will be sent
  std::string skipped;                 // why nothing, or not all: for people
};

enum class TracepointAction : uint8_t { kList, kEnable, kDisable };
struct TracepointRequest {
  uint64_t request_id = 0;
  TracepointAction action = TracepointAction::kList;
  std::vector<std::string> patterns;  // of names; none: all
  uint32_t pid = 0;                   // 0: any
  std::string service;                // empty: any
  std::optional<NodeId> node_id;      // none: every
  bool operator==(const TracepointRequest&) const = default;
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
  bool truncated = false;
};
struct TracepointAnswer {
  uint64_t request_id = 0;
  std::vector<ProgramTracepoints> programs;
  std::string failure;  // empty: none
  bool truncated = false;
};

// Of programs that run, and that will. Of several that fit a name, the last one counts.
struct TracepointRule {
  bool enables = false;
  std::string pattern;
  std::string service;            // empty: any
  std::optional<NodeId> node_id;  // none: every
  bool operator==(const TracepointRule&) const = default;
};

// The server's rules of redaction, with the key of their hashes.
struct RedactionRules {
  std::string fingerprint;  // of rules and key; empty: there are no rules
  std::vector<std::string> rules;
  std::string key;  // a secret
  bool operator==(const RedactionRules&) const = default;
};

}  // namespace fathom::ingest
