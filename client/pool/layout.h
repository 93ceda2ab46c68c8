// The layout of a span pool: the shared memory in which a traced program leaves its finished spans.
//
// Purpose: the one description that both sides compile, client/ (writes) and node-agent/ (reads).
// docs/formats/span-pool.md has the prose, the state machine of a chunk and the pairing of every atomic. Thread safety:
// fields that both sides touch are atomics. Hostility: a reader maps the first two areas only, copies everything else
// with pread(), and believes nothing. Versions: a program outlives agents, so readers keep every version ever released.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fathom::pool {

inline constexpr uint64_t kMagic = 0x4c4f4f504e415053;  // "SPANPOOL"
inline constexpr uint32_t kVersion = 1;
inline constexpr uint32_t kPageBytes = 4096;
inline constexpr uint32_t kChunkBytes = 16 * 1024;
inline constexpr uint32_t kDefaultChunks = 1024;
inline constexpr uint32_t kMostChunks = 16 * 1024;  // a reader refuses more
inline constexpr uint32_t kResourceBytes = 16 * 1024;
inline constexpr uint32_t kMostRecordBytes = 8 * 1024;

enum class Clock : uint32_t { kTsc = 1, kMonotonic = 2 };  // what ticks are; kMonotonic: nanoseconds

// What the writer gave up, each counted where it happens.
enum Loss : uint32_t {
  kLostPoolFull,    // spans: no free chunk
  kLostNotReady,    // spans: this process's pool could not be made, or was just being made (first moments after a fork)
  kLostAttributes,  // did not fit their span, or the resource
  kLostDetails,     // events, links and their attributes that did not fit
  kCutValues,       // texts that were cut to what fits
  kLosses = 16      // room for more, zero until then
};

// ---- area 1: the header, one page ----------------------------------------------------------------------------------

struct Header {
  // Written once, before the file is handed over.
  uint64_t magic;
  uint32_t version;
  Clock clock;
  uint32_t chunk_bytes;
  uint32_t chunk_count;
  uint64_t chunks_offset;    // of area 4, from the file's begin
  uint64_t resource_offset;  // of area 3
  uint8_t process_id[16];    // random, new after fork()
  uint32_t pid;              // in the program's own namespace; for people
  uint32_t thread_slots;     // of area 5 (open_spans.h); 0: this pool has none

  // The writer's.
  alignas(64) std::atomic<uint32_t> chunks_used;  // chunks at or beyond this number were never claimed
  // Area 3 is a text of this version and size: odd while it is being written. Bits 0-31 size, 32-63 version.
  std::atomic<uint64_t> resource;
  std::atomic<uint64_t> losses[kLosses];

  // The reader's: what makes a batch the same batch after the reader was started again.
  alignas(64) std::atomic<uint64_t> batch_sequence;  // of the batch under way, or of the last one
  std::atomic<uint64_t> acknowledged_sequence;       // equal to batch_sequence: none is under way
  std::atomic<uint64_t> reader;                      // the instance that reads; another one's value: stop reading
  std::atomic<uint64_t> applied_sequence;            // equal to acknowledged_sequence: the chunks show it (below)
  std::atomic<uint64_t> counted_losses[kLosses];     // of `losses`, what a collector has heard of

  // SpanMarks: not 0 while threads shall say their active span to Intel PT. A line that else nobody writes: every span
  // looks. Changed by atomic or and and.
  alignas(64) std::atomic<uint32_t> span_marks;
};
static_assert(sizeof(Header) <= kPageBytes && offsetof(Header, span_marks) == 448);

enum SpanMarks : uint32_t {
  kReaderWantsMarks = 1,   // it records this program
  kProgramWantsMarks = 2,  // its environment says so; the program's own, from the beginning
};

// ---- area 2: one entry per chunk, right behind the header page -----------------------------------------------------

enum ChunkState : uint32_t {
  kFree = 0,     // nobody's
  kOwned = 1,    // a thread writes to it
  kSealed = 2,   // complete: the reader takes what is left of it and frees it
  kClaimed = 3,  // a thread is making it its own, and its words may still be of the epoch before: no reader looks
};

// One cache line, so that two threads that write to neighbouring chunks do not wait for each other.
struct alignas(64) ChunkEntry {
  // Bits 0-31 ChunkState, 32-63 epoch. Epochs begin anywhere (random), so that old bytes do not look like words of this
  // epoch. Each claim counts the epoch up, never to 0, and zeroes the writer's words between kClaimed and kOwned. The
  // writer alone leads from kFree to kSealed, the reader alone from kSealed to kFree.
  std::atomic<uint64_t> state;
  // The writer's. Bytes reserved so far (may pass the chunk's end), and bytes of complete records, counted up (release)
  // when one is: where `committed` and then `reserved` are read and found equal, all records so far are complete. In a
  // sealed chunk both are the size of all its records together.
  std::atomic<uint32_t> reserved;
  std::atomic<uint32_t> committed;
  std::atomic<uint32_t> owner_tid;
  // The reader's: bytes of epoch `reader_epoch` that are acknowledged, and those that batch `batch_sequence` contains.
  // Of another epoch than the chunk's: nothing yet.
  std::atomic<uint32_t> acknowledged;
  std::atomic<uint32_t> sending;
  std::atomic<uint32_t> reader_epoch;
  uint32_t unused[8];
};
static_assert(sizeof(ChunkEntry) == 64);

inline uint64_t pack_state(uint32_t epoch, ChunkState state) {
  return static_cast<uint64_t>(epoch) << 32 | state;
}

// ---- area 3: the resource: records `key_size:u16, value_size:u16, key, value`, all texts ---------------------------
// ---- area 4: the chunks: records, each at a multiple of 8 bytes ----------------------------------------------------

// The first word of a record, stored last (release). A word of another epoch is no record: it is what an earlier lap
// left. Bits 0-31 epoch, 32-39 RecordType, 40-63 size of the whole record in words of 8 bytes.
enum class RecordType : uint8_t { kSpan = 1 };

inline uint64_t pack_record(uint32_t epoch, RecordType type, uint32_t words) {
  return epoch | static_cast<uint64_t>(type) << 32 | static_cast<uint64_t>(words) << 40;
}

inline constexpr uint8_t kRemoteParent = 0x80;  // of SpanRecord::flags: the parent is in another program

struct SpanRecord {
  uint64_t word;
  uint64_t start_ticks;
  uint64_t end_ticks;
  uint8_t trace_id[16];
  uint8_t span_id[8];
  uint8_t parent_span_id[8];  // zero: a root
  uint8_t kind;               // OTLP's numbers
  uint8_t status;
  uint8_t flags;  // W3C's flags, and kRemoteParent
  uint8_t unused;
  uint16_t name_bytes;
  uint16_t dropped_attributes;
  uint16_t dropped_events;
  uint16_t dropped_links;
  uint32_t item_bytes;  // of the items behind the name
  // then the name, then the items, then zeros up to a word
};
static_assert(sizeof(SpanRecord) == 72);

// What a span was told, in the order of telling.
enum class ItemTag : uint8_t {
  kAttribute = 1,      // key, value
  kEvent = 2,          // name, 8 bytes of ticks
  kLink = 3,           // tracestate, 16 bytes trace id + 8 bytes span id + 1 byte flags
  kDetail = 4,         // key, value: an attribute of the last event or link
  kStatusMessage = 5,  // nothing, text
  kTraceState = 6,     // nothing, text
};
// OTLP's kinds of values that a program can give; kCut is a text of which the end is missing.
enum class ItemType : uint8_t { kNone = 0, kString = 1, kBool = 2, kInt = 3, kDouble = 4, kCut = 7 };

struct ItemHead {
  uint8_t tag;
  uint8_t type;  // of the value, where the tag has one
  uint16_t key_bytes;
  uint32_t value_bytes;  // kBool: 1, kInt and kDouble: 8
  // then the key, then the value, without padding
};
static_assert(sizeof(ItemHead) == 8);

// ---- the agent's socket: SOCK_SEQPACKET, little-endian -------------------------------------------------------------

inline constexpr uint32_t kSocketMagic = 0x4d4854fa;
inline constexpr uint32_t kSocketVersion = 1;

// From the program, with the pool's file descriptor as SCM_RIGHTS; once per connection. The connection then stays open
// as long as the program lives.
struct Offer {
  uint32_t magic;  // kSocketMagic: a span pool; kDetailOfferMagic: a detail pool (detail_layout.h)
  uint32_t version;
  uint64_t pool_bytes;  // the file's size
};
inline constexpr uint32_t kDetailOfferMagic = 0x4d4854fb;

enum class Verdict : uint32_t {
  kTaken = 0,
  kVersion = 1,  // the agent does not know this version of the pool or of the socket
  kInvalid = 2,  // not a pool, or not sealed against shrinking
  kTooMany = 3,  // try again later
};

// What an agent can do beyond version 1 of the socket; programs ask for nothing that is not among it.
enum Ability : uint32_t {
  kTakesDetail = 1,       // a detail pool may be offered on the same connection
  kSaysTracepoints = 2,   // it says which tracepoints are on, where it has something to say
  kTracepointsFollow = 4  // and has: without this, what an agent said before is void
};

// The agent's answer to each offer; of what else it says, what is unknown is ignored, so that later versions may say
// more.
struct Answer {
  uint32_t magic;
  uint32_t version;  // the agent's
  Verdict verdict;
  uint32_t abilities;   // of Ability; 0 of agents that came before them
  uint8_t node_id[16];  // for the breadcrumb in tracestate
};

// Which tracepoints are on, from the agent; replaces what one said before.
struct TracepointsMessage {
  uint32_t magic;  // kTracepointsMagic
  uint32_t version;
  uint32_t bytes;  // of the patterns that follow, as fathom/event_c.h describes them
  uint32_t unused;
};
inline constexpr uint32_t kTracepointsMagic = 0x4d4854fc;
inline constexpr uint32_t kMostPatternBytes = 4000;

}  // namespace fathom::pool
