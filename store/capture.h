// Captures: what one node contributed for one trace, or for a person's request without a trace.
//
// Purpose: the words that agents, the store and those who ask have in common. A capture is an opaque string of bytes
// (compressed already) and this header. Ownership: plain values that own what they say. Thread safety: plain values.
// Units: in names; times are corrected already, the clock stands beside them as the agent sent it.
// Errors: check() names the field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/capture_trigger.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/sha256.h"
#include "store/span.h"

namespace fathom::store {

using CaptureId = Id<16>;  // random, chosen by the agent
using NodeId = Id<16>;     // the same for the life of a host's installation

// Data that the node dropped, by the name of the loss.
struct CaptureLoss {
  std::string name;
  uint64_t count = 0;
  bool operator==(const CaptureLoss&) const = default;
};

struct CaptureInfo {
  CaptureId id;
  uint32_t tenant = 0;  // the only one for now
  TraceId trace_id;     // zero: of no trace
  NodeId node_id;
  std::string node_name;
  std::string service;
  uint32_t pid = 0;  // 0: of no single process
  CaptureTrigger trigger = CaptureTrigger::kRequested;
  std::string operation;  // of the span that was the reason; empty: not known
  SpanId span_id;         // the same; zero: not known
  uint64_t start_unix_nano = 0;
  uint64_t end_unix_nano = 0;
  std::optional<ClockOffset> clock;
  bool crosses_clock_jump = false;
  bool truncated = false;
  std::vector<CaptureLoss> losses;
  // These three are the store's. Whoever begins an upload may say size and hash beforehand (zero: does not say): then
  // the content must have them.
  uint64_t received_unix_nano = 0;
  uint64_t size_bytes = 0;
  Sha256 sha256;

  bool operator==(const CaptureInfo&) const = default;
};

inline constexpr size_t kMostCaptureTextBytes = 4096;  // of each text
inline constexpr size_t kMostCaptureLosses = 64;

// Whether a store may take this header: limits, UTF-8, an id, a window that does not end before it starts.
Result<> check(const CaptureInfo& info);

// What a capture takes of the budget of captures: whole pages, and one more for its rows and its file's own.
inline uint64_t capture_charge_bytes(uint64_t size_bytes) {
  constexpr uint64_t kPage = 4096;
  return (size_bytes + kPage - 1) / kPage * kPage + kPage;
}

}  // namespace fathom::store
