#include "client/process.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "client/fork.h"
#include "client/handover.h"
#include "client/ids.h"
#include "client/open_spans.h"
#include "client/pool_memory.h"
#include "client/resource.h"
#include "client/setup.h"
#include "client/signal_context.h"

namespace fathom::client {

namespace {
alignas(pool::kPageBytes) constinit Live first_page = {};  // until setup has one that the kernel wipes; or for good
constexpr uint64_t kPoolAgainNano = 1'000'000'000;
}  // namespace

constinit Live* live_page = &first_page;
constinit Settings settings;
constinit RetiredLinks retired_links = {};
Slab slab_memory[kSlabs];

void random_bytes(void* out, size_t size) {
  if (getrandom(out, size, GRND_NONBLOCK) == static_cast<ssize_t>(size)) return;
  // Early in a boot, or where the call is forbidden: different is enough.
  IdSource source;
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  source.seed(
      {{static_cast<uint64_t>(now.tv_nsec) << 32 ^ static_cast<uint64_t>(now.tv_sec), ticks(),
        static_cast<uint64_t>(getpid()) << 32 ^ static_cast<uint64_t>(gettid()), reinterpret_cast<uint64_t>(&now)}});
  for (size_t at = 0; at < size; at += 8) {
    const uint64_t word = source.next();
    std::memcpy(static_cast<char*>(out) + at, &word, size - at < 8 ? size - at : 8);
  }
}

uint32_t ensure_generation() {
  uint32_t there = live().generation.load(std::memory_order_acquire);
  if (there != kNoGeneration) return there;
  uint32_t chosen = kNoGeneration;
  while (chosen == kNoGeneration || chosen == ~0U) random_bytes(&chosen, sizeof chosen);
  return live().generation.compare_exchange_strong(there, chosen, std::memory_order_acq_rel) ? chosen : there;
}

namespace {

// Everything that is lost before there is a pool is known to the pool afterwards.
void move_losses(pool::Header& header) {
  for (uint32_t i = 0; i < pool::kLosses; i++) {
    if (live().losses[i].load(std::memory_order_relaxed) == 0) continue;
    const uint64_t count = live().losses[i].exchange(0, std::memory_order_relaxed);
    if (count != 0) header.losses[i].fetch_add(count, std::memory_order_relaxed);
  }
}

void fill_pool(char* base) {
  auto& header = *reinterpret_cast<pool::Header*>(base);
  struct {
    uint8_t process_id[16];
    uint64_t epochs;
  } random;
  random_bytes(&random, sizeof random);
  const pool::Clock clock = settings.tsc ? pool::Clock::kTsc : pool::Clock::kMonotonic;
  write_header(header, settings.chunk_count, settings.thread_slots, clock, random.process_id);
  scatter_epochs(view_of(base).entries, settings.chunk_count, random.epochs);
  header.pid = static_cast<uint32_t>(getpid());
  if (settings.marks_spans) header.span_marks.store(pool::kProgramWantsMarks, std::memory_order_relaxed);
  write_resource(header, base + pool_geometry().resource_offset);
  finish_header(header);
}

// The one that became the process's is announced; when several threads began together, the others' are dropped.
char* install(const MadePool& made) {
  char* there = nullptr;
  if (!live().pool.compare_exchange_strong(there, made.base, std::memory_order_seq_cst)) {
    drop_shared_memory(made, pool_geometry().bytes);
    return there;
  }
  remember_for_forks(made);
  live().pool_fd_plus_one.store(made.fd + 1, std::memory_order_release);
  move_losses(*reinterpret_cast<pool::Header*>(made.base));
  mark_end(made.base);
  offer_at_once(settings.socket_paths, pool::kSocketMagic, made.fd, pool_geometry().bytes);
  return made.base;
}

}  // namespace

void refresh_resource() {
  char* pool = live().pool.load(std::memory_order_seq_cst);
  if (pool == nullptr) return;
  write_resource(*reinterpret_cast<pool::Header*>(pool), pool + pool_geometry().resource_offset);
}

char* ensure_pool() {
  if (char* pool = live().pool.load(std::memory_order_acquire)) return pool;
  const ErrnoKept errno_kept;
  const NotCancelled not_cancelled;
  set_up();
  const uint64_t now = monotonic_nano();
  if (now < live().pool_again_nano.load(std::memory_order_relaxed)) return nullptr;
  const MadePool made = make_pool_memory(pool_geometry());
  if (made.base == nullptr) {
    live().pool_again_nano.store(now + kPoolAgainNano, std::memory_order_relaxed);
    return nullptr;
  }
  uint32_t before, after;
  current_resource(before);
  fill_pool(made.base);
  char* pool = install(made);
  current_resource(after);
  if (before != after) refresh_resource();
  return pool;
}

namespace {
uint64_t lost(pool::Loss loss) {
  const char* pool = live().pool.load(std::memory_order_acquire);
  const uint64_t known =
      pool == nullptr ? 0 : reinterpret_cast<const pool::Header*>(pool)->losses[loss].load(std::memory_order_relaxed);
  return known + live().losses[loss].load(std::memory_order_relaxed);
}
}  // namespace

void count_loss(pool::Loss loss, uint64_t count) {
  char* pool = live().pool.load(std::memory_order_acquire);
  auto* counters = pool == nullptr ? live().losses : reinterpret_cast<pool::Header*>(pool)->losses;
  counters[loss].fetch_add(count, std::memory_order_relaxed);
}

// A thread may have found no pool, and count only after the other's were moved.
void settle_losses() {
  if (char* pool = live().pool.load(std::memory_order_acquire)) move_losses(*reinterpret_cast<pool::Header*>(pool));
}

uint64_t lost_spans() {
  return lost(pool::kLostPoolFull) + lost(pool::kLostNotReady);
}

namespace {

// What a reader has yet to take, as of the first look: the chunk's epoch and its records' size.
struct Due {
  uint32_t epoch;
  uint32_t bytes;
};

Due due(const pool::ChunkEntry& entry) {
  const uint64_t state = entry.state.load(std::memory_order_acquire);
  const auto kind = static_cast<pool::ChunkState>(static_cast<uint32_t>(state));
  if (kind != pool::kOwned && kind != pool::kSealed) return {};
  return {static_cast<uint32_t>(state >> 32), entry.committed.load(std::memory_order_acquire)};
}

bool taken(const pool::ChunkEntry& entry, const Due& due) {
  if (due.bytes == 0) return true;
  const uint64_t state = entry.state.load(std::memory_order_acquire);
  if (static_cast<uint32_t>(state >> 32) != due.epoch || static_cast<uint32_t>(state) == pool::kFree) return true;
  return entry.reader_epoch.load(std::memory_order_acquire) == due.epoch &&
         entry.acknowledged.load(std::memory_order_acquire) >= due.bytes;
}

bool wait_until_taken(const pool::ChunkEntry& entry, uint64_t deadline_nano) {
  const Due wanted = due(entry);
  while (!taken(entry, wanted)) {
    if (monotonic_nano() >= deadline_nano) return false;
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  return true;
}

}  // namespace

bool flush(uint64_t timeout_nano) {
  char* pool = live().pool.load(std::memory_order_acquire);
  if (pool == nullptr) return true;
  const PoolView view = view_of(pool);
  const uint64_t now = monotonic_nano();
  if (nobody_takes(settings.socket_paths)) timeout_nano = 0;
  const uint64_t deadline = timeout_nano > UINT64_MAX - now ? UINT64_MAX : now + timeout_nano;
  for (uint32_t i = 0; i < view.chunk_count; i++) {
    if (!wait_until_taken(view.entries[i], deadline)) return false;
  }
  return true;
}

}  // namespace fathom::client
