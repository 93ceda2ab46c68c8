// An open span: what a fathom_span really holds. The record grows in place as the pool will have it.
//
// Purpose: start, attributes and end touch the caller's 512 bytes and nothing else, so that the end is one copy. What
// does not fit goes on in a borrowed slab. Nothing points into itself: the caller may move it by copying its bytes.
// Thread safety: one thread at a time. Errors: what does not fit at all is dropped or cut, and counted in the record
// and in the pool.
#pragma once

#include "client/fathom/trace_c.h"
#include "client/thread.h"

namespace fathom::client {

struct __attribute__((may_alias)) SpanState {
  uint32_t generation;  // of the process that it belongs to; zero: no span
  uint16_t bytes;       // of the record so far, not padded
  uint8_t slab;         // number plus one; zero: the record is here
  uint8_t flags;        // SpanFlag
  SpanState* outer;     // while active: the one that was before
  pool::SpanRecord record;
  char text[424];  // name and items
};
static_assert(sizeof(SpanState) == sizeof(fathom_span));

enum SpanFlag : uint8_t {
  kActive = 1,
  kDetailsDropped = 2,  // the last event or link did not fit, so its details have no place
  kHasState = 4,        // the first item is the tracestate
  kNamesStart = 8,      // has an attribute that names its start thread
  kInherited = 16,      // active, and of the process that this one was forked from
};

inline constexpr uint8_t kTraceFlags = 3;  // of W3C's, those that have a meaning
inline constexpr uint8_t kRemote = pool::kRemoteParent;
// How the pool has a context's flags, a parent's as well as a link's.
inline uint8_t stored_flags(const fathom_context& context) {
  return static_cast<uint8_t>((context.flags & kTraceFlags) | (context.remote != 0 ? kRemote : 0));
}

// A word less than there is, because the end is padded by writing a whole word.
inline constexpr uint32_t kInlineBytes = sizeof(pool::SpanRecord) + sizeof(SpanState::text) - 8;

inline SpanState& state_of(fathom_span* span) {
  return *reinterpret_cast<SpanState*>(span);
}
inline const SpanState& state_of(const fathom_span* span) {
  return *reinterpret_cast<const SpanState*>(span);
}

inline char* record_bytes(SpanState& span) {
  return unlikely(span.slab != 0) ? slab_bytes(span.slab) : reinterpret_cast<char*>(&span.record);
}
inline const char* record_bytes(const SpanState& span) {
  return unlikely(span.slab != 0) ? slab_bytes(span.slab) : reinterpret_cast<const char*>(&span.record);
}
// As it will be stored. Its ids and flags, which never change, are right in SpanState::record too.
inline pool::SpanRecord& record_of(SpanState& span) {
  return *reinterpret_cast<pool::SpanRecord*>(record_bytes(span));
}
inline uint32_t items_begin(const SpanState& span) {
  return static_cast<uint32_t>(sizeof(pool::SpanRecord)) +
         reinterpret_cast<const pool::SpanRecord*>(record_bytes(span))->name_bytes;
}

// The thread that the span started on. item_bytes is set only when the span ends; until then it has this thread's id.
// Always in SpanState::record.
inline void note_start(const ThreadState& thread, SpanState& span) {
  span.record.item_bytes = thread.writer.tid;
}
inline uint32_t start_tid(const SpanState& span) {
  return span.record.item_bytes;
}

// Of this process, and open.
inline bool is_ours(const SpanState& span) {
  return likely(span.generation != kNoGeneration &&
                span.generation == live().generation.load(std::memory_order_relaxed));
}

// At the end of a slab, for the status message alone: it comes last, and says what the span is looked at for.
inline constexpr uint32_t kMessageBytes = 256;
inline constexpr uint32_t kSlabBytes = pool::kMostRecordBytes - sizeof(pool::ItemHead) - kMessageBytes;

// Makes room for so many more bytes, in a slab when they do not fit here; false when they do not fit at all.
bool grow(SpanState& span, uint32_t more);
// For all but the status message; a span that has one may be beyond it.
inline uint32_t capacity(const SpanState& span) {
  return span.slab != 0 ? kSlabBytes : kInlineBytes;
}
inline uint32_t most_bytes(const SpanState& span) {
  return span.slab != 0 ? pool::kMostRecordBytes : kInlineBytes;
}
inline bool reserve(SpanState& span, size_t more) {
  return likely(span.bytes + more <= capacity(span)) || (more <= kSlabBytes && grow(span, static_cast<uint32_t>(more)));
}

// How much of a text can stay when `room` bytes are left: not more, and no part of a UTF-8 sequence.
size_t cut_size(fathom_text text, size_t room);

inline fathom_text checked(fathom_text text) {
  return text.data == nullptr ? fathom_text{nullptr, 0} : text;
}

}  // namespace fathom::client
