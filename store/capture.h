// Captures: what one node contributed for one trace, or for a person's request without a trace.
//
// Purpose: the words that agents, the store and those who ask have in common. A capture is an opaque string of bytes
// (compressed already) and this header. Ownership: plain values that own what they say. Thread safety: plain values.
// Units: in names; times are corrected already, the clock stands beside them as the agent sent it.
// Errors: check() names the field.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/capture_trigger.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/sha256.h"
#include "base/skip_reason.h"
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

// A trace that triggered a capture which the node does not have, and the reason.
struct SkippedCapture {
  TraceId trace_id;
  SpanId span_id;  // of the span that triggered it; zero: unknown
  NodeId node_id;
  std::string node_name;
  std::string service;
  uint32_t pid = 0;
  CaptureTrigger trigger = CaptureTrigger::kRequested;
  SkipReason reason = SkipReason::kRate;  // 0: a reason that this version does not know
  std::string operation;
  uint64_t skipped_unix_nano = 0;

  bool operator==(const SkippedCapture&) const = default;
};

// Skipped captures are stored as headers without content. Their ids cannot be chosen by agents: eight bytes of 0xff,
// then an increasing number.
bool is_skipped(const CaptureId& id);
CaptureId skipped_id(uint64_t number);
uint64_t skipped_number(const CaptureId& id);
// Converts to a header and back, except for the id and the time of reception.
CaptureInfo header_of(const SkippedCapture& skipped);
SkippedCapture skipped_of(const CaptureInfo& header);

inline constexpr size_t kMostCaptureTextBytes = 4096;  // of each text
inline constexpr size_t kMostCaptureLosses = 64;

// Whether a store may take this header: limits, UTF-8, an id, a window that does not end before it starts.
Result<> check(const CaptureInfo& info);

// A capture's share of the captures' budget: whole pages for the content, and a page for its rows and its file's
// metadata. Of several captures with the same content, all but one take capture_charge_bytes(0).
inline constexpr uint64_t capture_charge_bytes(uint64_t size_bytes) {
  constexpr uint64_t kPage = 4096;
  return (size_bytes + kPage - 1) / kPage * kPage + kPage;
}

// The maximum number of skipped captures. A sixty-fourth of the captures' budget (0: no limit) is reserved for them, a
// page for each.
inline constexpr uint64_t most_skipped_captures(uint64_t budget_bytes) {
  constexpr uint64_t kMost = 50'000, kShare = 64;
  return budget_bytes == 0 ? kMost : std::min(kMost, budget_bytes / kShare / capture_charge_bytes(0));
}
// The rest of the budget, so that skipped captures and other captures never displace each other. 0: no limit.
inline constexpr uint64_t budget_without_skipped(uint64_t budget_bytes) {
  return budget_bytes == 0 ? 0 : budget_bytes - most_skipped_captures(budget_bytes) * capture_charge_bytes(0);
}
// Skipped captures are stored, and dropped, in pieces of this size: a selection of those to drop reads all of them.
inline constexpr uint64_t skipped_captures_at_once(uint64_t most) {
  constexpr uint64_t kShare = 64;
  return std::max<uint64_t>(1, most / kShare);
}
// The number to drop before `more` are stored.
inline constexpr uint64_t skipped_captures_to_drop(uint64_t kept, uint64_t more, uint64_t most) {
  return kept + more <= most ? 0 : std::max(kept + more - most, skipped_captures_at_once(most));
}

}  // namespace fathom::store
