#include "client/fork.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/detail/file.h"
#include "client/detail/writer.h"
#include "client/open_spans.h"
#include "client/process.h"
#include "client/signal_context.h"
#include "client/thread.h"

namespace fathom::client {
namespace {

// Not in the page that is wiped: the child has to find it.
struct Inherited {
  MadePool pool;
  FileIdentity file;
};
constinit Inherited inherited_spans, inherited_detail;

// Programs may close what they do not know, and get the same number for something else.
void close_inherited_file(const Inherited& inherited) {
  if (file_identity(inherited.pool.fd) == inherited.file) close(inherited.pool.fd);
}

// A fork in a signal handler that interrupted a write goes back to that write: its bytes must go somewhere, and nothing
// else may come to lie there.
void leave_inherited_memory(const Inherited& inherited, size_t bytes, bool under_way) {
  if (!under_way) {
    munmap(inherited.pool.base, bytes);
  } else {
    (void)mmap(inherited.pool.base, bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  }
}

void leave_inherited(Inherited& inherited, size_t bytes, bool under_way) {
  if (inherited.pool.base == nullptr) return;
  close_inherited_file(inherited);
  leave_inherited_memory(inherited, bytes, under_way);
  inherited = {};
}

bool maybe_in_handler() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return maybe_in_signal_handler(mask);
}

// The page of the parent's slot, when a span's begin or end that goes on in this child may be writing to it; null:
// none.
void* slot_under_way() {
  if (this_thread.slot == nullptr) return nullptr;
  char* slot = reinterpret_cast<char*>(this_thread.slot);
  leave_parents_slot(this_thread);
  return maybe_in_handler() ? slot - reinterpret_cast<uint64_t>(slot) % pool::kPageBytes : nullptr;
}

// The same of a note that fathom_trigger() may be writing.
void* triggers_under_way() {
  return inherited_spans.pool.base != nullptr && maybe_in_handler() ? open_area(inherited_spans.pool.base).triggers
                                                                    : nullptr;
}

// The same of the page that every span's begin and end looks at.
void* header_under_way() {
  return maybe_in_handler() ? inherited_spans.pool.base : nullptr;
}

void leave_page(void* page) {
  if (page == nullptr) return;
  (void)mmap(page, pool::kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
             -1, 0);
}

void in_child() {
  std::memset(static_cast<void*>(live_page), 0, sizeof *live_page);  // where the kernel does not know how
  const NotCancelled not_cancelled;
  const bool detail_unused = detail::nothing_under_way();
  detail::leave_parent(detail_unused);
  void* slot_page = slot_under_way();
  void* trigger_page = triggers_under_way();
  void* header_page = header_under_way();
  leave_inherited(inherited_spans, pool_geometry().bytes,
                  this_thread.ending || this_thread.writer.writes.load(std::memory_order_relaxed) != 0);
  leave_page(slot_page);
  leave_page(trigger_page);
  leave_page(header_page);
  this_thread.writer.retired.store(0, std::memory_order_relaxed);  // chunks of the parent's
  leave_inherited(inherited_detail, detail::file_bytes(), !detail_unused);
  detail::leave_parents_file();
}

}  // namespace

void remember_for_forks(const MadePool& made) {
  inherited_spans = {made, file_identity(made.fd)};
}

void remember_detail_for_forks(const MadePool& made) {
  inherited_detail = {made, file_identity(made.fd)};
}

FileIdentity pool_file() {
  return inherited_spans.file;
}

FileIdentity detail_pool_file() {
  return inherited_detail.file;
}

void prepare_for_forks() {
  pthread_atfork(nullptr, nullptr, in_child);
}

}  // namespace fathom::client
