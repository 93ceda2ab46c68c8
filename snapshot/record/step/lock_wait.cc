#include "snapshot/record/step/lock_wait.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include <array>
#include <span>

namespace fathom::snapshot::step {
namespace {

// From the word that is waited at to the one that names the owner.
struct OwnerPlace {
  uint64_t behind;
  uint32_t mask;
  const char* lock;
};

constexpr std::array<OwnerPlace, 3> kPlainPlaces{{
    {8, UINT32_MAX, "mutex"},             // __lock -> __owner
    {16, UINT32_MAX, "read-write lock"},  // __wrphase_futex -> __cur_writer
    {12, UINT32_MAX, "read-write lock"},  // __writers_futex -> __cur_writer
}};
// A lock with priority inheritance holds its owner in the word itself.
constexpr std::array<OwnerPlace, 1> kInheritPlaces{{{0, FUTEX_TID_MASK, "mutex"}}};

std::span<const OwnerPlace> places_of(uint64_t operation) {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
      return kPlainPlaces;
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
      return kInheritPlaces;
    default:
      return {};
  }
}

}  // namespace

std::optional<LockWait> lock_wait(pid_t waiter, const user_regs_struct& registers, const LockWaitSources& sources) {
  if (registers.orig_rax != SYS_futex) return std::nullopt;
  for (const OwnerPlace& place : places_of(registers.rsi)) {
    const auto word = sources.read_word(registers.rdi + place.behind);
    const auto owner = static_cast<pid_t>(word.value_or(0) & place.mask);
    if (owner > 0 && owner != waiter && sources.is_thread(owner)) return LockWait{registers.rdi, owner, place.lock};
  }
  return std::nullopt;
}

}  // namespace fathom::snapshot::step
