// The rarer half of the C interface: the program, and contexts that travel.
#include "client/fathom/trace_c.h"
#include "client/handover.h"
#include "client/helper.h"
#include "client/items.h"
#include "client/process_context.h"
#include "client/resource.h"
#include "client/setup.h"
#include "client/trace_context.h"

namespace fathom::client {
namespace {

void copy_context(const SpanState& span, fathom_context& context) {
  const pool::SpanRecord& record = span.record;
  std::memcpy(context.trace_id, record.trace_id, sizeof context.trace_id);
  std::memcpy(context.span_id, record.span_id, sizeof context.span_id);
  context.flags = record.flags & 3;
  context.remote = is_ours(span) ? 0 : 1;  // 1: of the process that this one was forked from
  const fathom_text state = get_state(span);
  context.state_size =
      state.size == 0
          ? 0
          : static_cast<uint16_t>(state_of_others({state.data, state.size}, context.state, kMostStateBytes));
}

std::string_view view(fathom_text text) {
  return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size);
}

// Nothing before the first agent has said where we are.
std::string_view node_text(char out[32]) {
  uint8_t id[16];
  if (!node_id(id)) return {};
  for (size_t i = 0; i < sizeof id; i++) {
    out[2 * i] = "0123456789abcdef"[id[i] >> 4];
    out[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
  }
  return {out, 32};
}

}  // namespace
}  // namespace fathom::client

using namespace fathom::client;  // NOLINT(google-build-using-namespace)

extern "C" {

void fathom_set_resource(fathom_text attributes) {
  set_up();
  if (!set_resource(view(attributes))) return;
  refresh_resource();
  if (live().process_context.load(std::memory_order_acquire) != nullptr) publish_process_context();
  want_helper_safely();
}

uint64_t fathom_lost_spans(void) {
  return lost_spans();
}

int fathom_flush(uint64_t timeout_nano) {
  return flush(timeout_nano) ? 0 : -1;
}

void fathom_span_context(const fathom_span* span, fathom_context* context) {
  const SpanState& state = state_of(span);
  if (state.generation == kNoGeneration) {
    *context = {};
  } else {
    copy_context(state, *context);
  }
}

int fathom_active_context(fathom_context* context) {
  const SpanState* active = this_thread.active;
  if (active == nullptr) return -1;
  copy_context(*active, *context);
  return 0;
}

int fathom_extract(fathom_text traceparent, fathom_text tracestate, fathom_context* context) {
  if (!parse_parent(view(traceparent), *context)) {
    *context = {};  // which as a parent means none
    return -1;
  }
  context->remote = 1;
  context->state_size = static_cast<uint16_t>(parse_state(view(tracestate), context->state));
  return 0;
}

void fathom_inject_parent(const fathom_context* context, char traceparent[56]) {
  format_parent(*context, traceparent);
}

size_t fathom_inject_state(const fathom_context* context, char* tracestate, size_t size) {
  if (size == 0) return 0;
  char node[32];
  const std::string_view state(context->state, context->state_size <= kMostStateBytes ? context->state_size : 0U);
  const size_t room = size - 1 < kMostStateBytes ? size - 1 : kMostStateBytes;
  const size_t written = format_state(state, node_text(node), tracestate, room);
  tracestate[written] = '\0';
  return written;
}

}  // extern "C"
