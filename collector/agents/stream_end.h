// Why an agent's stream ends.
//
// Thread safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fathom::collector {

enum class StreamEnd : uint8_t {
  kFinished,  // the agent closed its side, and all is answered
  kInvalid,   // a message that no agent sends
  kTooMuch,   // more under way than Welcome allows, or answers are not read
  kReplaced,  // the same node has a newer stream
  kSilent,    // no Hello in time, or nothing whole for too long
  kStopping,  // this collector ends
  kGone,      // the connection broke
  kRevoked,   // its token is none of ours any more
  kWrongKey,  // its key is not that of its node id
};
inline constexpr size_t kStreamEnds = static_cast<size_t>(StreamEnd::kWrongKey) + 1;
std::string_view stream_end_label(StreamEnd end);

// A rule that an agent broke, and so its stream's end.
struct Breach {
  StreamEnd end = StreamEnd::kInvalid;
  std::string message;
};

}  // namespace fathom::collector
