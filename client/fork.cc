#include "client/fork.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

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
constinit Inherited inherited;

// Programs may close what they do not know, and get the same number for something else.
void close_inherited_file() {
  if (file_identity(inherited.pool.fd) == inherited.file) close(inherited.pool.fd);
}

// A fork in a signal handler that interrupted a write goes back to that write: its bytes must go somewhere.
void leave_inherited_memory() {
  const size_t bytes = geometry(settings.chunk_count).bytes;
  if (this_thread.writer.writes.load(std::memory_order_relaxed) == 0) {
    munmap(inherited.pool.base, bytes);
  } else {
    (void)mmap(inherited.pool.base, bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  }
}

void in_child() {
  std::memset(static_cast<void*>(live_page), 0, sizeof *live_page);  // where the kernel does not know how
  if (inherited.pool.base == nullptr) return;
  const NotCancelled not_cancelled;
  close_inherited_file();
  leave_inherited_memory();
  inherited = {};
}

}  // namespace

void remember_for_forks(const MadePool& made) {
  inherited = {made, file_identity(made.fd)};
}

FileIdentity pool_file() {
  return inherited.file;
}

void prepare_for_forks() {
  pthread_atfork(nullptr, nullptr, in_child);
}

}  // namespace fathom::client
