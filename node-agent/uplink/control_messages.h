// The messages of the agents' stream that are not about spans: captures on their way, and what a collector asks.
//
// Purpose: as messages.h, of which this is the second half: a capture's bytes are never copied, a part's message is a
// head and a view of the content. Texts are made UTF-8. Thread safety: pure functions. Errors: a request that breaks a
// limit has a `fault`, which is what it is answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "node-agent/control.h"
#include "node-agent/uplink/clock_offset.h"
#include "node-agent/uplink/link.h"

namespace fathom::ingest::v1 {
class CaptureProgress;
class CollectorMessage;
}  // namespace fathom::ingest::v1

namespace fathom::agent {

std::string capture_begin_message(const OutgoingCapture& capture, const std::optional<ClockOffset>& clock);
// All of a CapturePart but the `content_bytes` that follow.
std::string capture_part_head(const std::array<uint8_t, 16>& capture_id, uint64_t offset, uint64_t content_bytes);

std::string capture_answer_message(const CaptureAnswer& answer);
// At most a MiB of it; says so when there was more.
std::string tracepoint_answer_message(const TracepointAnswer& answer);

LinkProgress read_progress(const ingest::v1::CaptureProgress& progress);
// What is asked, if anything.
std::optional<LinkControl> read_control(const ingest::v1::CollectorMessage& message);

}  // namespace fathom::agent
