// The messages of the agents' stream (proto/ingest.proto) as this side reads and writes them.
//
// Purpose: a batch's spans are megabytes, so messages are read in place; nothing of a batch is copied. Ownership: views
// point into the message that was parsed. Thread safety: pure functions. Errors: kInvalid for bytes that are no
// message, with the reason; a message of a kind that is not known yet is Unknown, because agents may be newer than
// collectors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "base/result.h"
#include "collector/agents/capture_messages.h"
#include "store/span.h"

namespace fathom::collector {

inline constexpr uint32_t kIngestVersion = 1;

using InstanceId = Id<16>;

struct HelloMessage {
  uint32_t protocol_version = 0;
  NodeId node_id;
  InstanceId instance_id;
  std::string host_name;
  std::string agent_version;
  bool takes_requests = false;  // it answers what control.h asks
};

struct BatchMessage {
  uint64_t sequence = 0;
  Hash128 identity;
  std::optional<store::ClockOffset> clock;
  std::string_view otlp;
};

struct ProbeMessage {
  uint64_t sent_unix_nano = 0;
};

struct NodeReport {
  uint32_t programs = 0;
  std::optional<store::ClockOffset> clock;
  uint64_t clock_measured_unix_nano = 0;
  uint64_t spool_bytes = 0;
  uint64_t spool_limit_bytes = 0;
  uint64_t acknowledged_spans = 0;
  uint64_t resident_bytes = 0;
  std::vector<std::pair<std::string, uint64_t>> losses;  // reason, count since the agent began
};

struct UnknownMessage {};

using AgentMessage = std::variant<UnknownMessage, HelloMessage, BatchMessage, ProbeMessage, NodeReport,
                                  CaptureBeginMessage, CapturePartMessage, CaptureAnswer, TracepointAnswer>;

// Texts are made UTF-8 and cut to a few hundred bytes (names of services and operations: 1024, as spans' are), lists to
// a few dozen entries, or what capture_messages.cc says of tracepoints.
Result<AgentMessage> parse_agent_message(std::string_view message);
// The sequence number of a batch of which only the first bytes are at hand; nothing when they do not say.
std::optional<uint64_t> peek_sequence(std::string_view begin);

struct WelcomeMessage {
  std::string collector_version;
  uint64_t max_batch_bytes = 0;
  uint64_t max_unacknowledged_bytes = 0;
  uint32_t max_unacknowledged_batches = 0;
  uint64_t max_capture_bytes = 0;  // 0: takes none
  uint64_t max_capture_bytes_under_way = 0;
};
std::string welcome_message(const WelcomeMessage& welcome);

struct AckMessage {
  enum class Outcome { kDurable, kRetry, kRefused };
  uint64_t sequence = 0;
  Outcome outcome = Outcome::kDurable;
  uint64_t retry_after_nano = 0;
  std::string message;
  uint64_t rejected_spans = 0;
};
std::string ack_message(const AckMessage& ack);

std::string clock_reply_message(uint64_t probe_sent_unix_nano, uint64_t received_unix_nano, uint64_t sent_unix_nano);

}  // namespace fathom::collector
