// Messages from the collector to agents (proto/ingest.proto): made on one side, read on the other.
//
// Purpose: as agent_messages.h, for the other direction. Thread safety: pure functions. Errors: kInvalid for bytes that
// are no message. The `fault` of a request that breaks a limit is its answer. What a later collector
// says and this agent does not know is UnknownMessage; an outcome that is not known must not drop anything, so it is
// kRetry.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "ingest/agent_messages.h"
#include "ingest/control.h"
#include "ingest/stream.h"

namespace fathom::ingest {

std::string encode(const Welcome& welcome);
std::string encode(const Ack& ack);
std::string encode(const ClockReply& reply);
std::string encode(const CaptureProgress& progress);
std::string encode(const CaptureRequest& request);
std::string encode(const TracepointRequest& request);
std::string encode(const Thresholds& thresholds);
// The same, as many messages as it takes for each to be one that agents take; at least one. To be sent in order.
std::vector<std::string> encode_in_parts(const Thresholds& thresholds);
std::string encode(const std::vector<TracepointRule>& rules);
std::string encode(const RedactionRules& rules);

// A request, and why no handler can obey it; empty: it can be obeyed.
template <typename Request>
struct Asked {
  Request request;
  std::string fault;
};
struct SaidThresholds {
  Thresholds thresholds;
  size_t passed_over = 0;  // beyond those that an agent takes of one message
};
using CollectorMessage =
    std::variant<UnknownMessage, Welcome, Ack, ClockReply, CaptureProgress, SaidThresholds, Asked<CaptureRequest>,
                 Asked<TracepointRequest>, Asked<std::vector<TracepointRule>>, Asked<RedactionRules>>;
Result<CollectorMessage> parse_collector_message(std::string_view message);

}  // namespace fathom::ingest
