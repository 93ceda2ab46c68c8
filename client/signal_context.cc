#include "client/signal_context.h"

#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/uio.h>
#include <unistd.h>

#include "client/platform.h"

namespace fathom::client {
namespace {

// As the kernel gives it, with the address that the C library hides: where handlers return to.
struct KernelAction {
  uint64_t handler;
  uint64_t flags;
  uint64_t restorer;
  uint64_t mask;
};

bool kernel_action(int signal, KernelAction& action) {
  return syscall(SYS_rt_sigaction, signal, nullptr, &action, sizeof action.mask) == 0;
}

bool has_handler(const KernelAction& action) {
  return action.handler != reinterpret_cast<uint64_t>(SIG_DFL) && action.handler != reinterpret_cast<uint64_t>(SIG_IGN);
}

// A handler's own signal is blocked while it runs, unless it asked for the contrary. So when no signal with a handler
// is blocked, none runs. Otherwise `restorers` are the addresses to look for.
struct Suspicion {
  bool any = false;
  uint64_t restorers[2] = {};  // one C library has one; a second one for whoever brings his own
};

Suspicion suspicion(const sigset_t& mask) {
  Suspicion found;
  for (int signal = 1; signal < 65; signal++) {
    KernelAction action = {};
    if (!kernel_action(signal, action) || !has_handler(action)) continue;
    if (sigismember(&mask, signal) != 1 && (action.flags & SA_NODEFER) == 0) continue;
    found.any = true;
    if (found.restorers[0] == 0) found.restorers[0] = action.restorer;
    if (action.restorer != found.restorers[0]) found.restorers[1] = action.restorer;
  }
  return found;
}

#if defined(__x86_64__)

// The frame begins with the address, then comes a ucontext_t: small flags, no link, and registers among which some bits
// are always set.
constexpr size_t kFrameWords = 25;
constexpr size_t kRegisters = 6;
bool looks_like_frame(const uint64_t* words, const Suspicion& wanted) {
  constexpr uint64_t kAlwaysSet = 0x202, kUserCode = 0x33;
  return words[0] != 0 && (words[0] == wanted.restorers[0] || words[0] == wanted.restorers[1]) && words[1] < 64 &&
         words[2] == 0 && (words[kRegisters + REG_EFL] & kAlwaysSet) == kAlwaysSet &&
         (words[kRegisters + REG_CSGSFS] & 0xffff) == kUserCode;
}

constexpr size_t kPageWords = 512;
constexpr size_t kMostStackBytes = 1 << 20;

// Up to the next page's begin, or as much as can be read: the stack's end is where reading stops.
size_t read_words(uint64_t at, uint64_t* out, size_t words) {
  const iovec to = {out, words * 8};
  const iovec from = {reinterpret_cast<void*>(at), words * 8};  // NOLINT(performance-no-int-to-ptr)
  const ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
  return got < 0 ? 0 : static_cast<size_t>(got) / 8;
}

// The callers' frames are above this one.
bool frame_above(const Suspicion& wanted) {
  uint64_t words[kPageWords + kFrameWords];
  const auto begin = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  for (uint64_t at = begin; at < begin + kMostStackBytes;) {
    const uint64_t page_end = (at & ~uint64_t{4095}) + 4096;
    const size_t wanted_words = (page_end - at) / 8;
    size_t got = read_words(at, words, wanted_words + kFrameWords);  // a frame may begin at the page's end
    if (got < wanted_words) got = read_words(at, words, wanted_words);
    if (got == 0) return at == begin;  // not even our own: this call is forbidden here
    for (size_t i = 0; i + kFrameWords <= got; i++) {
      if (looks_like_frame(words + i, wanted)) return true;
    }
    at = page_end;
  }
  return false;
}

#else
bool frame_above(const Suspicion&) {
  return true;
}
#endif

bool on_signal_stack() {
  stack_t stack;
  return sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_ONSTACK) != 0;
}

}  // namespace

bool maybe_in_signal_handler(const sigset_t& mask) {
  const ErrnoKept errno_kept;
  const Suspicion found = suspicion(mask);
  return found.any && (on_signal_stack() || frame_above(found));
}

}  // namespace fathom::client
