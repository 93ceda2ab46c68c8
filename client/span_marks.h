// Marks: which span a thread works for, written into the processor's own recording of control flow.
//
// Purpose: where Intel PT records this thread, PTWRITE puts the id of its active span among the packets, so that who
// reads them knows for which request each instruction ran. Off unless somebody records (Header::span_marks): then it
// is a load and a branch. The mark follows what whoever looks from outside sees (OTEP 4947), so that it is right behind
// signal handlers, too. The ids are numbers whose hexadecimal digits are those of the span id; 0: no span. Thread
// safety: the thread's own, its signal handlers included. Errors: none; a processor without the instruction is never
// asked for it. Source of the idea: Intel's manual, volume 3, "Trace of data with PTWRITE".
#pragma once

#include "client/thread.h"

namespace fathom::client {

bool processor_has_ptwrite();

inline uint64_t marked_id(const ThreadState& thread) {
  if (thread.context == nullptr) return 0;
  const auto* record = static_cast<const PublishedSpan*>(*thread.context);
  if (record == nullptr || record->valid == 0) return 0;
  uint64_t id;
  std::memcpy(&id, record->span_id, sizeof id);
  return __builtin_bswap64(id);
}

// As bytes: the compiler is not told of processors that have it. PTWRITE of RAX.
FATHOM_INLINED void ptwrite(uint64_t value) {
#if defined(__x86_64__)
  asm volatile(".byte 0xf3, 0x48, 0x0f, 0xae, 0xe0" : : "a"(value));
#else
  (void)value;
#endif
}

// The thread's active span has changed. No call, so that the fast path has no register to put by. The pool is this
// process's and not the thread's, which in the child of a fork may still be its parent's; fork.cc leaves its first page
// to a child that goes on in between.
FATHOM_INLINED void mark_active_span(const ThreadState& thread) {
  const char* pool = live().pool.load(std::memory_order_relaxed);
  if (unlikely(pool == nullptr)) return;
  const auto* header = reinterpret_cast<const pool::Header*>(pool);
  if (likely(header->span_marks.load(std::memory_order_relaxed) == 0)) return;
  if (settings.ptwrite) ptwrite(marked_id(thread));
}

}  // namespace fathom::client
