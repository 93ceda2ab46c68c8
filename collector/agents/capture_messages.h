// The messages that carry captures (proto/ingest.proto), and the answers to what agents are asked.
//
// Purpose: as messages.h, of which this is the second half. A capture's times are made the collector's here, where the
// agent knew the offset of its clock: start and end of a CaptureInfo are corrected, the offset stands beside them.
// Ownership: a part's view points into the message that was parsed. Thread safety: pure functions. Errors: kInvalid
// for bytes that are no message. What is a message and no capture (no such trigger, a window that ends before it
// starts) is the store's to refuse.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "collector/agents/control.h"
#include "store/capture.h"

namespace fathom::collector {

// Node id and node name are not in it: they are the stream's.
struct CaptureBeginMessage {
  store::CaptureInfo info;
};

struct CapturePartMessage {
  store::CaptureId id;
  uint64_t offset = 0;
  std::string_view content;
};

Result<CaptureBeginMessage> parse_capture_begin(std::string_view fields);
Result<CapturePartMessage> parse_capture_part(std::string_view fields);
Result<CaptureAnswer> parse_capture_answer(std::string_view fields);
Result<TracepointAnswer> parse_tracepoint_answer(std::string_view fields);

// Whose part it is, and which request's answer, of a message of which only the first bytes are at hand.
std::optional<store::CaptureId> peek_capture_part(std::string_view begin);
std::optional<uint64_t> peek_tracepoint_answer(std::string_view begin);

struct CaptureProgressMessage {
  enum class State { kTaken, kDurable, kRetry, kRefused };
  store::CaptureId id;
  State state = State::kTaken;
  uint64_t taken_bytes = 0;
  uint64_t retry_after_nano = 0;
  std::string message;
};
inline constexpr size_t kCaptureStates = 4;
std::string capture_progress_message(const CaptureProgressMessage& progress);

}  // namespace fathom::collector
