// One thread's writing into the detail pool: reservations that missed, chunks that are full, spans that changed.
//
// Purpose: what fathom_writer_v1 (fathom/event_c.h) leaves to slow paths. The rules that let a signal handler interrupt
// any of this at any instruction, and write, and change chunks:
// - An address alone tells which chunk a reservation is in, whatever `limit` says by now; that is a hint for the fast
//   path, and is mended here.
// - A reservation that is not used is committed all the same. So `cursor` equals `committed` only when nothing is under
//   way in this thread; a change of chunks moves both by the same distance, first `cursor`.
// - A chunk that is left behind is sealed when nothing is under way, and stays the thread's until then.
// Thread safety: the thread's own, its signal handlers included. Errors: a null place, and a counted loss.
#pragma once

#include "client/detail/recorder.h"

namespace fathom::client::detail {

// Where a thread without a chunk reserves: in no chunk at all.
inline constexpr uint64_t kNowhere = uint64_t{1} << 62;

struct WriterState {
  uint32_t generation = 0;  // of the process that the rest is of
  uint32_t tid = 0;
  std::atomic<uint32_t> retired{0};  // the first chunk's number plus one (Limit::next)
  uint32_t chunks = 0;               // claimed so far
  bool starved = false;              // the last claim found nothing
  std::atomic<uint32_t> inside{0};   // frames of the slow path
  std::atomic<uint64_t> told{0};     // the id of the span that the next records belong to, by what is written so far
};

extern constinit thread_local WriterState writer_state __attribute__((tls_model("initial-exec")));

// With this the next write of the thread comes to the slow path.
extern constinit const fathom_limit no_limit;
inline void note_span_change() {
  fathom_writer_v1.limit = &no_limit;
}

fathom_place place(uint64_t at, uint32_t bytes);
// The thread ends: its chunk is sealed, or left to another thread.
void leave_thread();
// Whether the child of a fork may do without its parent's memory: no write is under way that goes on there.
bool nothing_under_way();

}  // namespace fathom::client::detail
