#include "base/syscall_names.h"

#include <string.h>

#include <array>

namespace fathom {

namespace {

struct NamedCall {
  int32_t number;
  std::string_view name;
};
constexpr NamedCall kCalls[] = {
#include "syscall_table.inc"
};
constexpr int32_t kMostCalls = 1024;
constexpr int64_t kLastError = 4095;  // beyond it, a negative result is an address

std::array<std::string_view, kMostCalls> by_number() {
  std::array<std::string_view, kMostCalls> names;
  for (const NamedCall& call : kCalls) {
    if (call.number >= 0 && call.number < kMostCalls) names[static_cast<size_t>(call.number)] = call.name;
  }
  return names;
}

// What the kernel returns to itself when a signal came between, ERESTARTSYS to ERESTART_RESTARTBLOCK: the call is made
// again, or the program sees EINTR, as the signal's handler says.
bool is_restart(int64_t error) {
  return (error >= 512 && error <= 514) || error == 516;
}

}  // namespace

std::string_view syscall_name(int32_t number) {
  static const std::array<std::string_view, kMostCalls> kNames = by_number();
  return number >= 0 && number < kMostCalls ? kNames[static_cast<size_t>(number)] : std::string_view();
}

std::string error_name(int64_t result) {
  if (result >= 0 || result < -kLastError) return "";
  if (is_restart(-result)) return "interrupted";
  const char* name = ::strerrorname_np(static_cast<int>(-result));
  return name != nullptr ? name : "error " + std::to_string(-result);
}

}  // namespace fathom
