// CaptureTrigger: why a node kept the detail of a request (docs/triggers.md).
//
// Purpose: agents, the collector, the store and the command line have this list in common, so it is written here alone.
// Thread safety: constants and pure functions. Errors: a number or a name that is not known is nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fathom {

// The numbers are those of the agents' stream and of the store.
enum class CaptureTrigger : uint8_t {
  kOverdue = 1,    // a span was over its operation's threshold, and still running
  kSlow = 2,       // a request was among the slowest of its minute; or an overdue span ended
  kError = 3,      // a span ended with an error
  kRequested = 4,  // by a person
  kProgram = 5,    // by the traced program
  kCrash = 6,      // the process died
  kRemote = 7,     // another process of the trace was triggered
};

// By number, from 1 on: names in answers, metrics and options.
inline constexpr std::array<std::string_view, 7> kCaptureTriggerNames = {"overdue", "slow",  "error", "requested",
                                                                         "program", "crash", "remote"};
static_assert(kCaptureTriggerNames.size() == static_cast<size_t>(CaptureTrigger::kRemote),
              "each trigger has a name, and the numbers have no gap");

inline constexpr std::optional<CaptureTrigger> capture_trigger_of(uint64_t number) {
  if (number == 0 || number > kCaptureTriggerNames.size()) return std::nullopt;
  return static_cast<CaptureTrigger>(number);
}

inline constexpr std::optional<CaptureTrigger> capture_trigger_of(std::string_view name) {
  for (size_t i = 0; i < kCaptureTriggerNames.size(); ++i) {
    if (kCaptureTriggerNames[i] == name) return static_cast<CaptureTrigger>(i + 1);
  }
  return std::nullopt;
}

// "unknown" for a number that is none.
inline constexpr std::string_view name_of(CaptureTrigger trigger) {
  const auto number = static_cast<size_t>(trigger);
  return capture_trigger_of(number) ? kCaptureTriggerNames[number - 1] : "unknown";
}

// For people: "overdue, slow, ... or remote".
inline std::string words_of_capture_triggers() {
  std::string words;
  for (size_t i = 0; i < kCaptureTriggerNames.size(); ++i) {
    if (i > 0) words += i + 1 < kCaptureTriggerNames.size() ? ", " : " or ";
    words += kCaptureTriggerNames[i];
  }
  return words;
}

}  // namespace fathom
