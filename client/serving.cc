#include "client/serving.h"

#include "client/detail/writer.h"

namespace fathom::client {
namespace {

constexpr int kMostNested = 64;  // looked at; a ring has no end

ServingState& state_of(fathom_serving* serving) {
  return *reinterpret_cast<ServingState*>(serving);
}

// As whoever looks from outside finds it.
bool active_span(const ThreadState& thread, pool::SpanRef& ref) {
  if (thread.context == nullptr) return false;
  const auto* record = static_cast<const PublishedSpan*>(*thread.context);
  if (record == nullptr || record->valid == 0) return false;
  std::memcpy(ref.trace_id, record->trace_id, sizeof ref.trace_id);
  std::memcpy(ref.span_id, record->span_id, sizeof ref.span_id);
  return true;
}

uint64_t id_of(const pool::SpanRef& ref) {
  uint64_t id;
  std::memcpy(&id, ref.span_id, sizeof id);
  return id;
}

// Of a set together with the span within it.
uint64_t joint_id(uint64_t set, uint64_t span) {
  const uint64_t id = set ^ span * 0x9e3779b97f4a7c15;  // odd: Knuth's multiplicative hash
  return id == 0 ? 1 : id;
}

bool is_begun(const ThreadState& thread, const ServingState& serving) {
  int looks = kMostNested;
  for (const ServingState* at = thread.serving; at != nullptr && looks > 0; at = at->outer, looks--) {
    if (at == &serving) return true;
  }
  return false;
}

void set_contexts(ServingState& serving, const fathom_context* contexts, size_t count) {
  serving.count = 0;
  for (size_t i = 0; i < count && contexts != nullptr; i++) {
    if (serving.count == FATHOM_MOST_SERVED) return count_loss(pool::kLostDetails, count - i);
    pool::SpanRef& ref = serving.refs[serving.count];
    std::memcpy(ref.trace_id, contexts[i].trace_id, sizeof ref.trace_id);
    std::memcpy(ref.span_id, contexts[i].span_id, sizeof ref.span_id);
    if (id_of(ref) != 0) serving.count++;  // an empty context is nobody's
  }
}

void leave(ThreadState& thread, const ServingState& serving) {
  ServingState** place = &thread.serving;
  for (int looks = kMostNested; *place != nullptr && looks > 0; looks--) {
    if (*place == &serving) {
      *place = serving.outer;
      return;
    }
    place = &(*place)->outer;
  }
}

}  // namespace

void current_spans(const ThreadState& thread, CurrentSpans& current) {
  const bool active = active_span(thread, current.refs[0]);
  const uint64_t span = active ? id_of(current.refs[0]) : 0;
  const ServingState* serving = thread.serving;
  const bool within = active && (serving == nullptr || span != serving->under);
  current.count = within ? 1 : 0;
  current.id = within ? span : 0;
  if (serving == nullptr || serving->count > FATHOM_MOST_SERVED) return;
  std::memcpy(current.refs + current.count, serving->refs, serving->count * sizeof(pool::SpanRef));
  current.count += static_cast<uint32_t>(serving->count);
  current.id = joint_id(serving->id, current.id);
}

}  // namespace fathom::client

using namespace fathom::client;  // NOLINT(google-build-using-namespace)

extern "C" {

void fathom_serve_begin(fathom_serving* serving, const fathom_context* contexts, size_t count) {
  ThreadState& thread = this_thread;
  if (thread.generation != live().generation.load(std::memory_order_relaxed)) enter(thread);
  ServingState& state = state_of(serving);
  if (is_begun(thread, state)) leave(thread, state);
  set_contexts(state, contexts, count);
  fathom::pool::SpanRef under;
  state.under = active_span(thread, under) ? id_of(under) : 0;
  state.id = thread.ids.next();
  state.outer = thread.serving;
  signal_fence();
  thread.serving = &state;
  signal_fence();
  detail::note_span_change();
}

void fathom_serve_end(fathom_serving* serving) {
  ServingState& state = state_of(serving);
  if (state.id == 0) return;
  leave(this_thread, state);
  state.id = 0;
  signal_fence();
  detail::note_span_change();
}

}  // extern "C"
