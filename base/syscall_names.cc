#include "base/syscall_names.h"

#include <string.h>

#include <array>
#include <iterator>

namespace fathom {

namespace {

struct NamedCall {
  int32_t number;
  std::string_view name;
};
constexpr NamedCall kCalls[] = {
#include "syscall_table.inc"
};
// System calls that Debian 12's header lacks, or may lack.
constexpr NamedCall kYoungCalls[] = {{449, "futex_waitv"},       {450, "set_mempolicy_home_node"},
                                     {451, "cachestat"},         {452, "fchmodat2"},
                                     {453, "map_shadow_stack"},  {454, "futex_wake"},
                                     {455, "futex_wait"},        {456, "futex_requeue"},
                                     {457, "statmount"},         {458, "listmount"},
                                     {459, "lsm_get_self_attr"}, {460, "lsm_set_self_attr"},
                                     {461, "lsm_list_modules"},  {462, "mseal"},
                                     {463, "setxattrat"},        {464, "getxattrat"},
                                     {465, "listxattrat"},       {466, "removexattrat"}};
constexpr int32_t kMostCalls = 1024;
constexpr int64_t kLastError = 4095;  // beyond it, a negative result is an address

std::array<std::string_view, kMostCalls> by_number() {
  std::array<std::string_view, kMostCalls> names;
  for (const NamedCall& call : kYoungCalls) names[static_cast<size_t>(call.number)] = call.name;
  for (const NamedCall& call : kCalls) {
    if (call.number >= 0 && call.number < kMostCalls) names[static_cast<size_t>(call.number)] = call.name;
  }
  return names;
}

// Operations in linux/include/uapi/linux/futex.h, by number. Linux 2.6.26 removed FUTEX_FD.
constexpr std::string_view kFutexOperations[] = {
    "WAIT",           "WAKE",      "",           "REQUEUE",     "CMP_REQUEUE", "WAKE_OP",
    "LOCK_PI",        "UNLOCK_PI", "TRYLOCK_PI", "WAIT_BITSET", "WAKE_BITSET", "WAIT_REQUEUE_PI",
    "CMP_REQUEUE_PI", "LOCK_PI2"};
constexpr uint32_t kFutexPrivate = 128;
constexpr uint32_t kFutexRealtime = 256;

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

std::string futex_operation_name(uint64_t operation) {
  const auto number = static_cast<uint32_t>(operation);
  const uint32_t plain = number & ~(kFutexPrivate | kFutexRealtime);
  if (plain >= std::size(kFutexOperations) || kFutexOperations[plain].empty()) return "";
  std::string name = "FUTEX_" + std::string(kFutexOperations[plain]);
  if ((number & kFutexPrivate) != 0) name += "_PRIVATE";
  if ((number & kFutexRealtime) != 0) name += "|FUTEX_CLOCK_REALTIME";
  return name;
}

std::string error_name(int64_t result) {
  if (result >= 0 || result < -kLastError) return "";
  if (is_restart(-result)) return "interrupted";
  const char* name = ::strerrorname_np(static_cast<int>(-result));
  return name != nullptr ? name : "error " + std::to_string(-result);
}

}  // namespace fathom
