// This process's detail pool: how a thread gets a chunk of it, and gives it away.
//
// Purpose: the slow paths behind fathom_place_v1. docs/formats/pool.md has the states of a chunk and the pairing of
// every atomic. Thread safety: any thread, any signal handler; what takes a Taken belongs to one thread. Ownership: the
// process's, for good; in the child of a fork a new pool takes its place. Errors: no chunk is a null, and a counted
// loss of the caller's.
#pragma once

#include "client/fathom/event_c.h"
#include "client/platform.h"
#include "client/pool/detail_layout.h"

namespace fathom::client::detail {

// What a chunk's owner has to know of it, in private memory that the kernel empties in the child of a fork: a write
// that begins there finds no room, and comes to the slow path.
struct Limit {
  fathom_limit seen;  // by the fast path
  uint64_t end;
  // Of a retired chunk: what is to be sealed, and the next one's number plus one.
  uint32_t retired_epoch;
  std::atomic<uint32_t> next;
  uint32_t used;
  uint32_t present;  // 1: its memory is there
  std::atomic<uint32_t>
      offered;  // the epoch in which an ending thread left room; 0: it did not, or somebody has seen it
  uint32_t unused;
};
static_assert(sizeof(Limit) == 48);

// What belongs to a pool and is this process's alone. The kernel empties it in the child of a fork, which gets another
// one: a frame that the fork interrupted may go on with its parent's.
struct PrivateMemory {
  std::atomic<char*> pool;  // begin of the file's mapping
  Limit* limits() { return reinterpret_cast<Limit*>(this + 1); }
  // Behind them: a bit for each chunk that is offered. A hint, so that nobody has to look at all of them.
  std::atomic<uint64_t>* offers(uint32_t chunks) { return reinterpret_cast<std::atomic<uint64_t>*>(limits() + chunks); }
};

// The pool in this process's memory. The geometry is ours: nothing that the other side could change is believed.
struct View {
  pool::DetailHeader* header = nullptr;
  pool::DetailEntry* entries = nullptr;
  char* chunks = nullptr;
  Limit* limits = nullptr;
  std::atomic<uint64_t>* offers = nullptr;
  uint32_t large = 0;
  uint32_t small = 0;
  bool discard = false;

  uint32_t count() const { return large + small; }
  uint32_t bytes_of(uint32_t number) const { return number < large ? pool::kLargeBytes : pool::kSmallBytes; }
  uint64_t end_of(uint32_t number) const {
    return reinterpret_cast<uint64_t>(chunks) + uint64_t{number} * pool::kStrideBytes + pool::kChunkEnd;
  }
  uint64_t begin_of(uint32_t number) const { return end_of(number) - bytes_of(number); }
  char* memory(uint64_t address) const { return chunks + (address - reinterpret_cast<uint64_t>(chunks)); }
  // Of the chunk in whose stride the address is; ~0 when it is in none.
  uint32_t number_of(uint64_t address) const {
    const uint64_t number = (address - reinterpret_cast<uint64_t>(chunks)) / pool::kStrideBytes;
    return chunks == nullptr || number >= count() ? ~0U : static_cast<uint32_t>(number);
  }
};

// In the page that is wiped (process.h).
struct LiveRecorder {
  std::atomic<PrivateMemory*> memory;
  std::atomic<uint64_t> file;    // that the pool is made of (file.h), perhaps before there is a pool
  std::atomic<int> fd_plus_one;  // of the pool
  std::atomic<uint64_t> again_nano;
  std::atomic<uint64_t> losses[pool::kDetailLosses];  // those from before there was a pool
};

// The file's, for the settings.
size_t file_bytes();
// Null `header`: this process has none yet.
View current_view();
// Makes the pool when there is none.
View ensure_view();
// In the child of a fork: `unused` says that no frame of this thread goes on in what was the parent's.
void leave_parent(bool unused);
// Memory of the pool that is there from now on, so that no write to it can fail; false when it is refused.
bool populate(char* begin, size_t bytes);

struct Taken {
  uint32_t number = ~0U;
  uint32_t epoch = 0;
  uint64_t cursor = 0;  // where the first record comes
};
enum class Want { kFirst, kNext };
// A chunk of one's own, whose limit is set. `tries`: how many to look at.
bool take_chunk(const View& view, Want want, uint32_t tid, uint32_t tries, Taken& taken);
// Complete: others may have it. `used`: bytes of records, from its begin. False: it was not this process's in this
// epoch.
bool seal_chunk(const View& view, uint32_t number, uint32_t epoch, uint32_t used);
// In less room than this no thread goes on: there is to be some for its events behind its first records.
inline constexpr uint32_t kLeastRoom = 1024;
// Sealed; if there is room, the next thread that wants a first chunk may go on in it.
void offer_chunk(const View& view, uint32_t number, uint32_t epoch, uint32_t used);

void count_loss(pool::DetailLoss loss, uint64_t count = 1);
uint64_t lost_events();

}  // namespace fathom::client::detail
