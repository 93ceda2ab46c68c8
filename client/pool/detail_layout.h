// The layout of a detail pool: the shared memory in which a traced program keeps the last events of its threads.
//
// Purpose: the one description that both sides compile, client/ (writes) and node-agent/ (reads).
// docs/formats/pool.md has the prose, the states of a chunk and the pairing of every atomic. Thread safety: fields that
// both sides touch are atomics. Hostility: a reader maps the header and the entries only, copies everything else with
// pread(), and believes nothing. Versions: a program outlives agents, so readers keep every version ever released.
// Source of the idea: the flight recorders of LTTng and of ftrace; the sizes are our own measurements.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "client/pool/layout.h"

namespace fathom::pool {

inline constexpr uint64_t kDetailMagic = 0x4c4f4f504c544544;  // "DETLPOOL"
inline constexpr uint32_t kDetailVersion = 1;

// Every chunk has a stride of the file to itself, so that an address alone tells its chunk, also after reservations
// beyond the chunk's end. Chunks end where the first half of their stride ends; the rest of the file is never touched.
inline constexpr uint32_t kStrideBytes = 128 * 1024;
inline constexpr uint32_t kChunkEnd = 64 * 1024;  // from the begin of its stride
inline constexpr uint32_t kLargeBytes = 64 * 1024;
inline constexpr uint32_t kSmallBytes = 4 * 1024;
inline constexpr uint32_t kMostDetailChunks = 32 * 1024;  // of both sizes; a reader refuses more
inline constexpr uint32_t kTableBytes = 256 * 1024;

inline constexpr uint32_t kRecordAlignment = 8;
inline constexpr uint32_t kShortRecordBytes = 128;  // the largest whose size is in its head
inline constexpr uint32_t kMostEventBytes = 2048;   // a record's, its head included
inline constexpr uint32_t kLongWords = 15;

enum class DetailMode : uint32_t { kOverwrite = 1, kDiscard = 2 };

// What the writer gave up, each counted where it happens.
enum DetailLoss : uint32_t {
  kLostNoChunk,        // events: no chunk could be claimed
  kLostNoPool,         // events: this process's pool could not be made, or was just being made
  kLostDiscarded,      // events: the pool is full, and its user asked to keep the oldest
  kCutTexts,           // texts and bytes that were cut to what fits into a record
  kLostTracepoints,    // tracepoints beyond the table or beyond kMostTracepoints: never recorded
  kDetailLosses = 16,  // room for more, zero until then
};

// ---- area 1: the header, one page ----------------------------------------------------------------------------------

struct DetailHeader {
  // Written once, before the file is handed over.
  uint64_t magic;
  uint32_t version;
  Clock clock;
  DetailMode mode;
  uint32_t large_chunks;   // entries 0 .. large_chunks - 1
  uint32_t small_chunks;   // the entries behind them
  uint32_t pid;            // in the program's own namespace; for people
  uint64_t table_offset;   // of area 3, from the file's begin
  uint64_t chunks_offset;  // of area 4: entry n's stride begins at chunks_offset + n * kStrideBytes
  uint8_t process_id[16];  // that of the process's span pool

  // The writer's.
  alignas(64) std::atomic<uint32_t> large_ticket;  // claims so far, of each size; begins anywhere
  alignas(64) std::atomic<uint32_t> small_ticket;
  alignas(64) std::atomic<uint32_t> reader;  // counts up when a reader's connection ends: what it held is void
  std::atomic<uint32_t> unused;
  std::atomic<uint64_t> losses[kDetailLosses];
  // No record that was overwritten is younger; raised before a sealed chunk is claimed anew.
  std::atomic<uint64_t> overwritten_ticks;

  // The agent's.
  alignas(64) std::atomic<uint64_t> counted_losses[kDetailLosses];  // of `losses`, what a collector has heard of
};
static_assert(sizeof(DetailHeader) <= kPageBytes && offsetof(DetailHeader, counted_losses) == 384);

// ---- area 2: one entry per chunk, right behind the header page -----------------------------------------------------

enum DetailState : uint32_t {
  kDetailFree = 0,     // nobody's, and nothing is in it
  kDetailOwned = 1,    // a thread writes to it
  kDetailSealed = 2,   // complete: may be read, or claimed anew
  kDetailReading = 3,  // a reader copies it: not claimed, unless that reader is void
};

// One cache line, so that two threads that write to neighbouring chunks do not wait for each other.
struct alignas(64) DetailEntry {
  // Bits 0-1 DetailState, 2-31 the reader's number (kDetailReading), 32-63 epoch. Changed by compare-exchange only.
  std::atomic<uint64_t> state;
  std::atomic<uint32_t> owner_tid;  // a hint: stored behind the state that says owned
  // The owner's, stored before the state that says sealed.
  std::atomic<uint32_t> used;           // bytes of records; all of them are complete
  std::atomic<uint32_t> sealed_ticket;  // the claims of this size
  std::atomic<uint32_t> unused_word;
  std::atomic<uint64_t> first_ticks;  // about when it was claimed: a hint, stored behind the state that says owned
  std::atomic<uint64_t> last_ticks;   // none is younger; of a sealed chunk
  uint64_t unused[3];
};
static_assert(sizeof(DetailEntry) == 64);

inline constexpr uint32_t kReaderMask = 0x3fffffff;

inline uint64_t pack_detail(uint32_t epoch, DetailState state, uint32_t reader = 0) {
  return uint64_t{epoch} << 32 | uint64_t{reader & kReaderMask} << 2 | state;
}
inline uint32_t epoch_of(uint64_t state) {
  return static_cast<uint32_t>(state >> 32);
}
inline DetailState state_of(uint64_t state) {
  return static_cast<DetailState>(state & 3);
}
inline uint32_t reader_of(uint64_t state) {
  return static_cast<uint32_t>(state >> 2) & kReaderMask;
}
// A claim's epoch, never 0. Those of neighbouring claims differ in all their bytes: what a record leaves of the bytes
// before it, where it is not whole words long, must not make an old epoch a new one.
inline uint32_t epoch_of_ticket(uint32_t ticket) {
  const uint32_t epoch = ticket * 0x9e3779b1U;  // odd: all of them differ. Knuth's multiplicative hash
  return epoch == 0 ? 1 : epoch;
}

// ---- area 3: what the tracepoints are, in the order of their first use ---------------------------------------------

// Each at a multiple of 8 bytes; `bytes` is stored last (release), and is 0 where the next one is not there yet.
struct TracepointEntry {
  std::atomic<uint32_t> bytes;  // of the whole entry, padded
  uint16_t kind;
  uint16_t line;
  uint16_t name_bytes;
  uint16_t file_bytes;
  uint16_t fields;
  std::atomic<uint16_t> on;  // 1: it is recorded, 0: it is switched off; changes at any time
  // then the name, then the file, then for each field: type:u8, key_bytes:u8, key
};
static_assert(sizeof(TracepointEntry) == 16);

inline constexpr uint32_t kMostFields = 8;

// The numbers are those of fathom/event_c.h.
enum class FieldType : uint8_t {
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kUint8 = 5,
  kUint16 = 6,
  kUint32 = 7,
  kUint64 = 8,
  kFloat = 9,
  kDouble = 10,
  kBool = 11,    // one byte
  kString = 12,  // size:u16 (bit 15: cut), then the bytes
  kBytes = 13,   // the same
};
inline constexpr uint32_t kCutBit = 0x8000;

// ---- area 4: the chunks: records, each at a multiple of 8 bytes ----------------------------------------------------

// A record: ticks:u48, head:u16, epoch:u32 (stored last, release), then the payload, which begins in the same word.
// A record whose epoch is not its chunk's is none: it is what an earlier lap left.
inline constexpr uint32_t kHeadOffset = 6;
inline constexpr uint32_t kEpochOffset = 8;
inline constexpr uint32_t kPayloadOffset = 12;
inline constexpr uint32_t kLeastRecordBytes = 16;

// The head: bits 0-3 words of 8 bytes beyond the first two, 4-15 the kind. kLongWords: the payload begins with its own
// size (u32), which does not count itself.
inline uint32_t kind_of(uint32_t head) {
  return head >> 4;
}
enum DetailKind : uint32_t {
  kPad = 0,       // nothing
  kOwner = 1,     // whose records follow in this chunk: payload tid:u32
  kSpans = 2,     // the spans that the following records belong to: payload count:u32, count x SpanRef
  kMoreSpans = 3  // further ones, beside those of the record before
};
inline constexpr uint32_t kFirstTracepoint = 16;  // up to here kinds are ours
inline constexpr uint32_t kMostTracepoints = 4000;

struct SpanRef {
  uint8_t trace_id[16];
  uint8_t span_id[8];
};
inline constexpr uint32_t kSpansInRecord = 4;

}  // namespace fathom::pool
