// SkipReason: why a node has no capture of a request that triggered one (docs/triggers.md).
//
// Purpose: agents, the collector, the store and queries share this list. Thread safety: constants and pure functions.
// Errors: an unknown number or name gives no reason (nullopt).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fathom {

// The values are part of the agents' protocol.
enum class SkipReason : uint8_t {
  kRate = 1,         // the trigger's limit of captures per second was reached
  kOperation = 2,    // the same operation was captured a moment ago
  kSame = 3,         // the same trigger captured this trace already
  kBusy = 4,         // too many captures are queued or under way
  kMemory = 5,       // the memory for captures under way, or for kept captures, is used up
  kNoDetail = 6,     // the process records no events
  kOverwritten = 7,  // events were overwritten before they were read
  kFailed = 8,       // the capture could not be encoded
  kLost = 9,         // the capture was made, but did not reach the collector
  kOperations = 10,  // the user has more operations than the agent follows
  kTooLate = 11,     // the agent read the request after its period was closed
  kRefused = 12,     // the collector requested the node's part late or not at all
};

// Indexed by number - 1. Metrics, the store and query responses use these names.
inline constexpr std::array<std::string_view, 12> kSkipReasonNames = {"rate",   "operation",  "same",        "busy",
                                                                      "memory", "no_detail",  "overwritten", "failed",
                                                                      "lost",   "operations", "too_late",    "refused"};
static_assert(kSkipReasonNames.size() == static_cast<size_t>(SkipReason::kRefused),
              "each reason has a name, and the numbers have no gap");

inline constexpr std::optional<SkipReason> skip_reason_of(uint64_t number) {
  if (number == 0 || number > kSkipReasonNames.size()) return std::nullopt;
  return static_cast<SkipReason>(number);
}

inline constexpr std::optional<SkipReason> skip_reason_of(std::string_view name) {
  for (size_t i = 0; i < kSkipReasonNames.size(); ++i) {
    if (kSkipReasonNames[i] == name) return static_cast<SkipReason>(i + 1);
  }
  return std::nullopt;
}

// "unknown" if the number is not in the list.
inline constexpr std::string_view name_of(SkipReason reason) {
  const auto number = static_cast<size_t>(reason);
  return skip_reason_of(number) ? kSkipReasonNames[number - 1] : "unknown";
}

// For people. Completes "it was not captured: ".
inline constexpr const char* words_of(SkipReason reason) {
  constexpr std::array<const char*, kSkipReasonNames.size()> kWords = {
      "the limit of captures per second for this kind of trigger was reached",
      "another request of its operation was captured a moment before",
      "it was captured by such a trigger already",
      "too many captures were being made at once",
      "the memory for captures was used up",
      "the process had recorded no events",
      "it was overwritten before it was read",
      "the capture could not be encoded",
      "the capture was lost on its way to the server",
      "its service has more operations than the agent follows",
      "it ended after the captures of its period were chosen",
      "the server asks agents for a limited number of traces per second"};
  const auto number = static_cast<size_t>(reason);
  return skip_reason_of(number) ? kWords[number - 1] : "for a reason that this version does not know";
}

}  // namespace fathom
