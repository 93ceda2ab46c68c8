// SkipReason: why a node has no capture of a request that triggered one (docs/triggers.md).
//
// Purpose: agents, the collector, the store and queries have this list in common. Thread safety: constants and pure
// functions. Errors: a number or a name that is not known is nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fathom {

// The numbers are those of the agents' stream.
enum class SkipReason : uint8_t {
  kRate = 1,         // more than this kind of trigger may make
  kOperation = 2,    // this operation was captured a moment ago
  kSame = 3,         // this trace was captured by such a trigger already
  kBusy = 4,         // too many are being made, or wait to be
  kMemory = 5,       // what is being made, or is kept, holds too much
  kNoDetail = 6,     // the process records nothing
  kOverwritten = 7,  // before it was read
  kFailed = 8,       // could not be encoded
  kLost = 9,         // made, and lost on its way to the collector
  kOperations = 10,  // its user has more operations than are followed
  kTooLate = 11,     // heard of after its period was over
  kRefused = 12,     // the collector asked the node late, or not at all
};

// By number, from 1 on: names in metrics, the store and answers.
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

// "unknown" for a number that is none.
inline constexpr std::string_view name_of(SkipReason reason) {
  const auto number = static_cast<size_t>(reason);
  return skip_reason_of(number) ? kSkipReasonNames[number - 1] : "unknown";
}

// For people; completes "it was not captured: ".
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
      "the agent heard of it after the captures of its period were chosen",
      "the server asks agents for a limited number of traces per second"};
  const auto number = static_cast<size_t>(reason);
  return skip_reason_of(number) ? kWords[number - 1] : "for a reason that this version does not know";
}

}  // namespace fathom
