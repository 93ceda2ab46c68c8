// Interrupts a piece of code after each of its instructions: the processor's trap flag gives a SIGTRAP.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>

#include "client/platform.h"

#if defined(FATHOM_UNLOCKED)

namespace fathom::client::testing {

// From here on, but not within the handler.
inline __attribute__((always_inline)) void step_on() {
  asm volatile("pushfq; orq $0x100, (%%rsp); popfq" : : : "memory", "cc");
}
inline __attribute__((always_inline)) void step_off() {
  asm volatile("pushfq; andq $~0x100, (%%rsp); popfq" : : : "memory", "cc");
}

inline void at_every_step(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  ASSERT_EQ(sigaction(SIGTRAP, &action, nullptr), 0);
}
inline void at_every_step_with_context(void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGTRAP, &action, nullptr), 0);
}
// What the handler returns to is not stepped any more.
inline void step_no_more(void* context) {
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~0x100LL;
}

}  // namespace fathom::client::testing

#endif
