// The detail pool's memory: the file, and the private memory for the limits of its chunks.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/detail/file.h"
#include "client/detail/recorder.h"
#include "client/detail/tracepoints.h"
#include "client/detail/writer.h"
#include "client/fork.h"
#include "client/handover.h"
#include "client/pool_memory.h"
#include "client/process.h"
#include "client/signal_context.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace fathom::client::detail {
namespace {

constexpr uint64_t kAgainNano = 1'000'000'000;

// Of this process, or of its parent until that is left.
constinit PrivateMemory* known_memory = nullptr;

uint32_t large_chunks() {
  return settings.detail_mib * ((1U << 20) / pool::kLargeBytes);
}
// As many small ones: a sixteenth more memory, and a thread of its own for each.
uint32_t small_chunks() {
  return large_chunks();
}
size_t whole_pages(size_t bytes) {
  return (bytes + pool::kPageBytes - 1) / pool::kPageBytes * pool::kPageBytes;
}
size_t private_bytes() {
  const size_t chunks = large_chunks() + small_chunks();
  return whole_pages(sizeof(PrivateMemory) + chunks * sizeof(Limit) + (chunks + 63) / 64 * sizeof(uint64_t));
}
size_t table_offset() {
  return pool::kPageBytes + whole_pages(size_t{large_chunks() + small_chunks()} * sizeof(pool::DetailEntry));
}
size_t chunks_offset() {
  return table_offset() + pool::kTableBytes;
}

PrivateMemory* make_private_memory() {
  void* made = mmap(nullptr, private_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return nullptr;
  if (madvise(made, private_bytes(), MADV_WIPEONFORK) == 0) return static_cast<PrivateMemory*>(made);
  munmap(made, private_bytes());
  return nullptr;
}

View view_at(char* base, PrivateMemory& memory) {
  View view;
  view.header = reinterpret_cast<pool::DetailHeader*>(base);
  view.entries = reinterpret_cast<pool::DetailEntry*>(base + pool::kPageBytes);
  view.chunks = base + chunks_offset();
  view.limits = memory.limits();
  view.offers = memory.offers(large_chunks() + small_chunks());
  view.large = large_chunks();
  view.small = small_chunks();
  view.discard = settings.discard;
  return view;
}

void begin_at(std::atomic<uint32_t>& counter, uint32_t number) {
  uint32_t none = 0;
  counter.compare_exchange_strong(none, number, std::memory_order_relaxed);
}

// Several threads may fill the same file at once, and one of them when another one writes to it already: what
// counts begins once, and all else is the same in all of them.
void fill(const View& view, const char* span_pool) {
  pool::DetailHeader& header = *view.header;
  const auto& spans = *reinterpret_cast<const pool::Header*>(span_pool);
  uint32_t tickets[2];
  random_bytes(tickets, sizeof tickets);
  header.version = pool::kDetailVersion;
  header.clock = spans.clock;
  header.mode = settings.discard ? pool::DetailMode::kDiscard : pool::DetailMode::kOverwrite;
  header.large_chunks = view.large;
  header.small_chunks = view.small;
  header.pid = spans.pid;
  header.table_offset = table_offset();
  header.chunks_offset = chunks_offset();
  std::memcpy(header.process_id, spans.process_id, sizeof header.process_id);
  // Anywhere, so that old bytes do not look like records of this epoch.
  begin_at(header.large_ticket, tickets[0] | 1);
  begin_at(header.small_ticket, tickets[1] | 1);
  begin_at(header.reader, 1);
  std::atomic_ref<uint64_t>(header.magic).store(pool::kDetailMagic, std::memory_order_release);
}

void move_losses(pool::DetailHeader& header) {
  for (uint32_t i = 0; i < pool::kDetailLosses; i++) {
    const uint64_t count = live().recorder.losses[i].exchange(0, std::memory_order_relaxed);
    if (count != 0) header.losses[i].fetch_add(count, std::memory_order_relaxed);
  }
}

// The process's own file stays: another thread's pool is made of it.
void drop(const MadePool& made, PrivateMemory* memory, bool own_file) {
  munmap(made.base, file_bytes());
  if (own_file) close(made.fd);
  munmap(memory, private_bytes());
}

bool install(const MadePool& made, PrivateMemory* memory, const View& view) {
  PrivateMemory* none = nullptr;
  memory->pool.store(made.base, std::memory_order_relaxed);
  if (!live().recorder.memory.compare_exchange_strong(none, memory, std::memory_order_seq_cst)) return false;
  known_memory = memory;
  remember_detail_for_forks(made);
  live().recorder.fd_plus_one.store(made.fd + 1, std::memory_order_release);
  copy_table(made.base + table_offset());
  move_losses(*view.header);
  offer_at_once(settings.socket_paths, pool::kDetailOfferMagic, made.fd, file_bytes());
  return true;
}

// The one that became the process's counts; when several threads began together, the others' mappings are dropped.
bool try_to_make_pool() {
  const char* span_pool = ensure_pool();
  PrivateMemory* memory = span_pool == nullptr ? nullptr : make_private_memory();
  if (memory == nullptr) return false;
  const int shared_fd = ensure_file();
  const MadePool made = shared_fd < 0 ? make_shared_memory("fathom-detail", file_bytes(), chunks_offset())
                                      : map_memory_file(shared_fd, file_bytes(), chunks_offset());
  if (made.base == nullptr) {
    munmap(memory, private_bytes());
    return false;
  }
  const View view = view_at(made.base, *memory);
  fill(view, span_pool);
  if (!install(made, memory, view)) drop(made, memory, shared_fd < 0);
  return true;
}

// No signal handler may fork in the middle: its child would go on, and fill in its parent's file.
void make_pool() {
  const SignalsBlocked blocked;
  std::atomic<uint64_t>& again_nano = live().recorder.again_nano;
  const uint64_t now = monotonic_nano();
  if (now < again_nano.load(std::memory_order_relaxed)) return;
  if (!try_to_make_pool()) again_nano.store(now + kAgainNano, std::memory_order_relaxed);
}

}  // namespace

size_t file_bytes() {
  return chunks_offset() + size_t{large_chunks() + small_chunks()} * pool::kStrideBytes;
}

// One look: what is a parent's has no pool any more.
View current_view() {
  PrivateMemory* memory = live().recorder.memory.load(std::memory_order_acquire);
  char* base = memory == nullptr ? nullptr : memory->pool.load(std::memory_order_acquire);
  return base == nullptr ? View{} : view_at(base, *memory);
}

View ensure_view() {
  if (likely(live().recorder.memory.load(std::memory_order_acquire) != nullptr)) return current_view();
  if (settings.detail_mib != 0) make_pool();
  return current_view();
}

void leave_parent(bool unused) {
  forget_parents_locks();
  if (unused && known_memory != nullptr) {
    fathom_writer_v1.limit = &no_limit;
    munmap(known_memory, private_bytes());
  }
  known_memory = nullptr;
}

// Kernels before 5.14 cannot map what they find; memory that is there is enough.
bool populate(char* begin, size_t bytes) {
  if (madvise(begin, bytes, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;
  const int fd = live().recorder.fd_plus_one.load(std::memory_order_acquire) - 1;
  const off_t offset = begin - reinterpret_cast<char*>(current_view().header);
  return fd >= 0 && fallocate(fd, 0, offset, static_cast<off_t>(bytes)) == 0;
}

}  // namespace fathom::client::detail
