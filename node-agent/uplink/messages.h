// The messages of the agents' stream (proto/ingest.proto) as this side writes and reads them.
//
// Purpose: a batch's bytes are never copied: its message is a head, which is made here, and the bytes themselves
// behind. Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node-agent/uplink/clock_offset.h"
#include "node-agent/uplink/link.h"

namespace fathom::agent {

inline constexpr uint32_t kIngestVersion = 1;

struct HelloFacts {
  std::array<uint8_t, 16> node_id{};
  std::array<uint8_t, 16> instance_id{};
  std::string host_name;
  std::string agent_version;
  bool takes_requests = false;
};
std::string hello_message(const HelloFacts& hello);

// All of a Batch but the `otlp_bytes` that follow.
std::string batch_head(uint64_t sequence, const std::array<uint8_t, 16>& identity,
                       const std::optional<ClockOffset>& clock, uint64_t otlp_bytes);
std::string probe_message(uint64_t sent_unix_nano);

struct StatusFacts {
  uint32_t programs = 0;
  std::optional<ClockOffset> clock;
  uint64_t clock_measured_unix_nano = 0;
  uint64_t spool_bytes = 0;
  uint64_t spool_limit_bytes = 0;
  uint64_t acknowledged_spans = 0;
  uint64_t resident_bytes = 0;
  std::vector<std::pair<std::string, uint64_t>> losses;
};
std::string status_message(const StatusFacts& status);

struct ClockAnswer {
  uint64_t probe_sent_unix_nano = 0;
  uint64_t received_unix_nano = 0;
  uint64_t sent_unix_nano = 0;
};
struct CollectorWords {
  std::optional<LinkWelcome> welcome;
  std::optional<LinkAck> ack;
  std::optional<ClockAnswer> clock;
  std::optional<LinkProgress> progress;
  std::optional<LinkControl> control;
};
// Nothing for bytes that are no message.
std::optional<CollectorWords> parse_collector_message(std::string_view bytes);

}  // namespace fathom::agent
