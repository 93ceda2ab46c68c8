// Messages from agents to the collector (proto/ingest.proto): made on one side, read on the other.
//
// Purpose: a batch's spans and a capture's content are megabytes, so their bytes are never copied: the sender makes a
// head and sends the bytes behind it, and the receiver reads them in place, as it does an answer about tracepoints.
// Everything else goes through the generated classes. Thread safety: pure functions. Ownership: views of a parsed
// message point into it. Errors: kInvalid for bytes that are no message, with the reason. A message of a kind that is
// not known yet is UnknownMessage, because agents may be newer than collectors. Texts are made UTF-8, and cut to the
// lengths in limits.h. Lists are cut, too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "ingest/control.h"
#include "ingest/stream.h"

namespace fathom::ingest {

std::string encode(const Hello& hello);
std::string encode(const ClockProbe& probe);
std::string encode(const NodeStatus& status);
std::string encode(const CaptureBegin& begin);
std::string encode(const SlowTrace& trace);
// Encodes at most the first kMostSkippedCaptures.
std::string encode(const SkippedCaptures& skipped);
std::string encode(const CaptureAnswer& answer);
// At most a MiB of it; says so when there was more.
std::string encode(const TracepointAnswer& answer);
// All of a Batch but the `otlp_bytes` that follow.
std::string batch_head(uint64_t sequence, const BatchIdentity& identity, const std::optional<ClockOffset>& clock,
                       uint64_t otlp_bytes);
// All of a CapturePart but the `content_bytes` that follow.
std::string capture_part_head(const CaptureId& id, uint64_t offset, uint64_t content_bytes);

struct UnknownMessage {};
using AgentMessage = std::variant<UnknownMessage, Hello, Batch, ClockProbe, NodeStatus, CaptureBegin, CapturePart,
                                  CaptureAnswer, TracepointAnswer, SlowTrace, SkippedCaptures>;
Result<AgentMessage> parse_agent_message(std::string_view message);

// Of a message of which only the first bytes are at hand; nothing when they do not say.
std::optional<uint64_t> peek_batch(std::string_view begin);              // its sequence
std::optional<CaptureId> peek_capture_part(std::string_view begin);      // whose it is
std::optional<uint64_t> peek_tracepoint_answer(std::string_view begin);  // which request's

}  // namespace fathom::ingest
