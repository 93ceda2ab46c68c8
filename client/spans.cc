// The C interface but for its rarer half (context.cc): what a traced program calls all the time. Every function here is
// short of everything: no call that is not needed, nothing written that nobody reads.
#include <bit>
#include <cstddef>

#include "base/span_threads.h"
#include "client/detail/writer.h"
#include "client/fathom/trace_c.h"
#include "client/items.h"
#include "client/open_spans.h"
#include "client/span_marks.h"
#include "client/trace_context.h"

namespace fathom::client {
namespace {

constexpr uint8_t kRandomAndSampled = 3;  // a new trace: we record all of them

inline ThreadState& entered_thread() {
  ThreadState& thread = this_thread;
  if (unlikely(thread.generation != live().generation.load(std::memory_order_relaxed))) enter(thread);
  return thread;
}

// A handler that comes between any two of these leaves the thread as it found it: either without this span or with it.
// What events belong to is looked at last: until then those of handlers are told of one or the other.
FATHOM_INLINED void activate(ThreadState& thread, SpanState& span) {
  span.outer = thread.active;
  span.flags |= kActive;
  signal_fence();
  thread.active = &span;
  signal_fence();
  show(thread, span);
  mark_active_span(thread);
  detail::note_span_change();
}

// Spans may end in another order than they began.
void unlink(ThreadState& thread, SpanState& span) {
  const uint32_t level = level_of(thread, span);
  for (SpanState* at = thread.active; at != nullptr; at = behind(*at)) {
    if (behind(*at) == &span) {
      at->outer = span.outer;
      return close_gap(thread, level);
    }
  }
}

FATHOM_INLINED void leave_innermost(ThreadState& thread, const SpanState& span) {
  thread.active = span.outer;
  signal_fence();
  hide(thread);
  mark_active_span(thread);
  detail::note_span_change();
}

inline void deactivate(ThreadState& thread, SpanState& span) {
  if ((span.flags & kActive) == 0) return;
  if (unlikely(has_parents_slot(thread))) leave_parents_slot(thread);
  if (likely(thread.active == &span)) {
    leave_innermost(thread, span);
  } else {
    unlink(thread, span);
  }
  span.flags &= static_cast<uint8_t>(~kActive);
}

// What the thread remembers is about to be another span. The one that was there ends now; where its memory has been
// overwritten meanwhile, nothing that it says can be believed.
__attribute__((noinline)) void end_forgotten(ThreadState& thread, SpanState& span) {
  if (is_ours(span) && (span.flags & kActive) != 0) {
    fathom_span_end(reinterpret_cast<fathom_span*>(&span));
  } else {
    thread.active = nullptr;
    show_none(thread);
    mark_active_span(thread);
    detail::note_span_change();
  }
}

constexpr int kOuterLooks = 16;  // of a program that nests deeper, the innermost: a start must not cost more and more

// Programs must not start an open span again. Those that do would make a ring of the active spans.
inline bool is_active_here(const ThreadState& thread, const SpanState& span) {
  int looks = kOuterLooks;
  for (const SpanState* at = thread.active; at != nullptr && looks > 0; at = behind(*at), looks--) {
    if (unlikely(at == &span)) return true;
  }
  return false;
}
inline void forget(ThreadState& thread, SpanState& span) {
  if (unlikely(is_active_here(thread, span))) end_forgotten(thread, span);
}

FATHOM_INLINED uint8_t begin_trace(ThreadState& thread, pool::SpanRecord& record) {
  uint64_t trace_id[2];
  const uint64_t id = thread.ids.next_root(trace_id);
  std::memcpy(record.trace_id, trace_id, sizeof trace_id);
  std::memcpy(record.span_id, &id, sizeof id);
  std::memset(record.parent_span_id, 0, sizeof record.parent_span_id);
  return kRandomAndSampled;
}

FATHOM_INLINED void continue_trace(ThreadState& thread, pool::SpanRecord& record, const uint8_t* trace_id,
                                   const uint8_t* parent) {
  const uint64_t id = thread.ids.next();
  std::memcpy(record.trace_id, trace_id, sizeof record.trace_id);
  std::memcpy(record.span_id, &id, sizeof id);
  std::memcpy(record.parent_span_id, parent, sizeof record.parent_span_id);
}

static_assert(std::endian::native == std::endian::little && FATHOM_UNSET == 0);
static_assert(offsetof(SpanState, bytes) == 4 && offsetof(SpanState, slab) == 6 && offsetof(SpanState, flags) == 7);
static_assert(offsetof(pool::SpanRecord, flags) == offsetof(pool::SpanRecord, kind) + 2 &&
              offsetof(pool::SpanRecord, name_bytes) == offsetof(pool::SpanRecord, kind) + 4);

constexpr size_t kMostInlineName = sizeof(SpanState::text) - 8;

// All that does not depend on the parent, in whole words: a store for each field would cost more than the clock.
FATHOM_INLINED void begin(uint32_t generation, SpanState& span, fathom_kind kind, uint8_t flags, fathom_text name) {
  name = checked(name);
  const bool fits = likely(name.size <= kMostInlineName);
  const uint64_t name_bytes = fits ? name.size : 0;
  const uint64_t state = generation | (sizeof(pool::SpanRecord) + name_bytes) << 32;
  std::memcpy(reinterpret_cast<char*>(&span), &state, sizeof state);
  const uint64_t words[2] = {static_cast<uint8_t>(kind) | static_cast<uint64_t>(flags) << 16 | name_bytes << 32, 0};
  std::memcpy(reinterpret_cast<char*>(&span.record) + offsetof(pool::SpanRecord, kind), words, sizeof words);
  if (fits) {
    copy_text(span.text, name.data, name.size);
  } else {
    set_name(span, name);
  }
}

// Our own entry is of the node that the request came from: it belongs to the span that it came to, and to no other.
void inherit_state(SpanState& span, fathom_text state) {
  char others[kMostStateBytes];
  const size_t size = state_of_others({state.data, state.size}, others, sizeof others);
  put_state(span, {others, size});
}

bool is_context(const fathom_context* context) {
  uint64_t words[3];
  if (context == nullptr) return false;
  std::memcpy(words, context->trace_id, 16);
  std::memcpy(words + 2, context->span_id, 8);
  return (words[0] | words[1]) != 0 && words[2] != 0;
}

uint8_t continue_context(ThreadState& thread, pool::SpanRecord& record, const fathom_context& parent) {
  continue_trace(thread, record, parent.trace_id, parent.span_id);
  return stored_flags(parent);
}

void take_state(SpanState& span, const fathom_context& parent) {
  const fathom_text state = {parent.state, parent.state_size <= kMostStateBytes ? parent.state_size : 0U};
  if (parent.remote != 0) {
    put_state(span, state);
  } else if (state.size != 0) {
    inherit_state(span, state);
  }
}

// The record of an open span becomes one of the pool; returns its size there.
FATHOM_INLINED uint32_t complete(pool::SpanRecord& record, uint32_t bytes, uint64_t end_ticks) {
  record.end_ticks = end_ticks;
  record.item_bytes = bytes - static_cast<uint32_t>(sizeof record) - record.name_bytes;
  // What is behind it up to a whole word would otherwise be the caller's stack.
  const uint64_t zero = 0;
  std::memcpy(reinterpret_cast<char*>(&record) + bytes, &zero, sizeof zero);
  return (bytes + 7) & ~7U;
}

void store_finished(ThreadState& thread, SpanState& span, uint64_t end_ticks) {
  // Never so, unless the program wrote over it: no reader would take it, and the end of it is somebody else's memory.
  if (unlikely(span.bytes > pool::kMostRecordBytes)) return count_loss(pool::kLostPoolFull);
  const uint32_t bytes = complete(record_of(span), span.bytes, end_ticks);
  if (likely(store_record(thread, span.generation, record_bytes(span), bytes)) || !is_ours(span)) return;
  count_loss(thread.pool == nullptr ? pool::kLostNotReady : pool::kLostPoolFull);
}

// No span any more. The interface promises that the whole word is zero.
FATHOM_INLINED void clear(SpanState& span) {
  static_assert(kNoGeneration == 0);
  std::memset(reinterpret_cast<char*>(&span), 0, 8);
}

inline void let_go(SpanState& span) {
  if (span.slab != 0 && is_ours(span)) live().slabs.give_back(span.slab);
  clear(span);
}

// Under the thread's active span. `remote`: 0, or kRemote if that span is of another process.
FATHOM_INLINED void begin_here(ThreadState& thread, SpanState& span, fathom_text name, fathom_kind kind,
                               uint8_t remote = 0) {
  const SpanState* outer = thread.active;
  if (outer == nullptr) return begin(thread.generation, span, kind, begin_trace(thread, span.record), name);
  const pool::SpanRecord& parent = outer->record;
  continue_trace(thread, span.record, parent.trace_id, parent.span_id);
  begin(thread.generation, span, kind, (parent.flags & kTraceFlags) | remote, name);
}

// What is nearly always so goes its way without a call, so that no register has to be put by; all else is slow.
FATHOM_INLINED bool starts_simply(const ThreadState& thread, const SpanState& span, fathom_text name) {
  return thread.generation == live().generation.load(std::memory_order_relaxed) && !is_active_here(thread, span) &&
         (thread.active == nullptr || (thread.active->flags & (kHasState | kInherited)) == 0) &&
         name.size <= kMostInlineName && settings.tsc;
}

__attribute__((noinline)) void start_here_slowly(SpanState& span, fathom_text name, fathom_kind kind) {
  ThreadState& thread = entered_thread();
  forget(thread, span);
  const SpanState* outer = thread.active;
  begin_here(thread, span, name, kind, outer != nullptr && !is_ours(*outer) ? kRemote : 0);
  note_start(thread, span);
  if (outer != nullptr && (outer->flags & kHasState) != 0) inherit_state(span, get_state(*outer));
  record_of(span).start_ticks = ticks();
}

// An active span ends on the thread that activated it, and activate() has compared that thread with the start thread.
FATHOM_INLINED bool says_its_threads(const ThreadState& thread, const SpanState& span) {
  if ((span.flags & kActive) != 0) return thread.active == &span;
  return start_tid(span) == thread.writer.tid && (span.flags & kNamesStart) == 0;
}

FATHOM_INLINED bool ends_simply(const ThreadState& thread, const SpanState& span) {
  const uint32_t generation = live().generation.load(std::memory_order_relaxed);
  return span.generation == generation && thread.generation == generation && span.slab == 0 &&
         span.bytes <= kInlineBytes && says_its_threads(thread, span) && settings.tsc;
}

// The chunk names the thread that a span ended on. A span that started on another thread needs an attribute for it.
// Called when a span ends on this thread, and when it is activated here.
void name_start_thread(const ThreadState& thread, SpanState& span) {
  if (!is_ours(span) || span.bytes > most_bytes(span)) return;
  const fathom_text key = {kStartThreadId.data(), kStartThreadId.size()};
  const uint32_t tid = start_tid(span);
  if (tid != thread.writer.tid) {
    set_number(span, key, pool::ItemType::kInt, int64_t{tid});
    span.flags |= kNamesStart;
  } else if ((span.flags & kNamesStart) != 0) {
    const ItemSpan named = find_item(span, pool::ItemTag::kAttribute, key);
    if (named.begin != named.end) remove_item(span, named);
    span.flags &= static_cast<uint8_t>(~kNamesStart);
  }
}

// No longer active. The child of a fork leaves its parent's spans to its parent.
__attribute__((noinline)) void finish_slowly(SpanState& span, uint64_t end_ticks) {
  if (is_ours(span)) store_finished(entered_thread(), span, end_ticks);
  let_go(span);
}

__attribute__((noinline)) void end_slowly(SpanState& span) {
  if (span.generation == kNoGeneration) return;
  const uint64_t now = ticks();
  deactivate(this_thread, span);
  if (is_ours(span)) name_start_thread(entered_thread(), span);
  finish_slowly(span, now);
}

// Handles a null span, an active span, and a span that changes its thread.
__attribute__((noinline)) void activate_slowly(SpanState& span) {
  if (span.generation == kNoGeneration || (span.flags & kActive) != 0) return;
  ThreadState& thread = entered_thread();
  name_start_thread(thread, span);
  if (!is_ours(span)) span.flags |= kInherited;
  activate(thread, span);
}

}  // namespace
}  // namespace fathom::client

using namespace fathom::client;  // NOLINT(google-build-using-namespace)
using fathom::pool::ItemType;

extern "C" {

void fathom_span_start_here(fathom_span* span, fathom_text name, fathom_kind kind) {
  ThreadState& thread = this_thread;
  SpanState& state = state_of(span);
  if (unlikely(!starts_simply(thread, state, name))) return start_here_slowly(state, name, kind);
  begin_here(thread, state, name, kind);
  note_start(thread, state);
  state.record.start_ticks = ticks();
}

void fathom_span_start(fathom_span* span, fathom_text name, fathom_kind kind, const fathom_context* parent) {
  ThreadState& thread = entered_thread();
  SpanState& state = state_of(span);
  forget(thread, state);
  const bool continues = is_context(parent);
  const uint8_t flags = continues ? continue_context(thread, state.record, *parent) : begin_trace(thread, state.record);
  begin(thread.generation, state, kind, flags, name);
  note_start(thread, state);
  if (continues) take_state(state, *parent);
  reinterpret_cast<fathom::pool::SpanRecord*>(record_bytes(state))->start_ticks = ticks();
}

void fathom_span_end(fathom_span* span) {
  SpanState& state = state_of(span);
  ThreadState& thread = this_thread;
  if (unlikely(!ends_simply(thread, state))) return end_slowly(state);
  const uint64_t now = ticks();
  if ((state.flags & kActive) != 0) leave_innermost(thread, state);
  const uint32_t bytes = complete(state.record, state.bytes, now);
  const char* record = reinterpret_cast<const char*>(&state.record);
  if (unlikely(!store_at_once(thread, state.generation, record, bytes))) return finish_slowly(state, now);
  clear(state);
  if (unlikely(needs_tidying(thread))) tidy_up(thread);
}

void fathom_span_discard(fathom_span* span) {
  SpanState& state = state_of(span);
  if (state.generation == kNoGeneration) return;
  deactivate(this_thread, state);
  let_go(state);
}

void fathom_span_activate(fathom_span* span) {
  SpanState& state = state_of(span);
  const bool is_simple = state.generation != kNoGeneration && (state.flags & (kActive | kNamesStart)) == 0;
  if (unlikely(!is_simple)) return activate_slowly(state);
  ThreadState& thread = entered_thread();
  if (unlikely(start_tid(state) != thread.writer.tid)) return activate_slowly(state);
  activate(thread, state);
}

void fathom_span_deactivate(fathom_span* span) {
  SpanState& state = state_of(span);
  if (state.generation != kNoGeneration) deactivate(this_thread, state);
}

void fathom_span_set_string(fathom_span* span, fathom_text key, fathom_text value) {
  if (SpanState& state = state_of(span); is_ours(state)) set_text(state, key, value);
}
void fathom_span_set_int(fathom_span* span, fathom_text key, int64_t value) {
  if (SpanState& state = state_of(span); is_ours(state)) set_number(state, key, ItemType::kInt, value);
}
void fathom_span_set_double(fathom_span* span, fathom_text key, double value) {
  if (SpanState& state = state_of(span); is_ours(state)) set_number(state, key, ItemType::kDouble, value);
}
void fathom_span_set_bool(fathom_span* span, fathom_text key, int value) {
  const char byte = value != 0;
  if (SpanState& state = state_of(span); is_ours(state)) set_number(state, key, ItemType::kBool, byte);
}

void fathom_detail_string(fathom_span* span, fathom_text key, fathom_text value) {
  if (SpanState& state = state_of(span); is_ours(state)) set_detail(state, checked(key), text_value(checked(value)));
}
void fathom_detail_int(fathom_span* span, fathom_text key, int64_t value) {
  const Value bytes = {ItemType::kInt, reinterpret_cast<const char*>(&value), sizeof value};
  if (SpanState& state = state_of(span); is_ours(state)) set_detail(state, checked(key), bytes);
}
void fathom_detail_double(fathom_span* span, fathom_text key, double value) {
  const Value bytes = {ItemType::kDouble, reinterpret_cast<const char*>(&value), sizeof value};
  if (SpanState& state = state_of(span); is_ours(state)) set_detail(state, checked(key), bytes);
}
void fathom_detail_bool(fathom_span* span, fathom_text key, int value) {
  const char byte = value != 0;
  if (SpanState& state = state_of(span); is_ours(state)) set_detail(state, checked(key), {ItemType::kBool, &byte, 1});
}

void fathom_span_set_name(fathom_span* span, fathom_text name) {
  SpanState& state = state_of(span);
  if (!is_ours(state)) return;
  set_name(state, checked(name));
  if ((state.flags & kActive) != 0) describe_again(this_thread, state);
}
void fathom_span_set_status(fathom_span* span, fathom_status status, fathom_text message) {
  SpanState& state = state_of(span);
  if (!is_ours(state)) return;
  set_message(state, checked(message));
  record_of(state).status = static_cast<uint8_t>(status);
}
void fathom_span_add_event(fathom_span* span, fathom_text name) {
  if (SpanState& state = state_of(span); is_ours(state)) add_event(state, checked(name));
}
void fathom_span_add_link(fathom_span* span, const fathom_context* other) {
  if (SpanState& state = state_of(span); is_ours(state) && other != nullptr) add_link(state, *other);
}

}  // extern "C"
