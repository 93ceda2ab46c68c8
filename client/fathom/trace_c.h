// fathom's C interface: spans of a traced program, for some tens of nanoseconds each. C++ programs include
// fathom/trace.h.
//
// Purpose: start a span, say what is worth knowing about it, end it. A finished span lies in shared memory, from which
// the node's agent takes it, also after a crash of the program. Without an agent, everything works and nothing is sent.
// Thread safety: any function from any thread, and from signal handlers (but fathom_set_resource and fathom_flush); one
// span belongs to one thread at a time, and an active span to the thread that activated it. Only fathom_flush waits,
// nothing allocates; memory that is full is a counted loss (fathom_lost_spans). Ownership: a span lives in the caller's
// memory and holds copies of what it was given; it may be moved by copying its bytes while it is not active. Texts need
// no terminator; sizes are in bytes. Times are the library's own. Errors: there are none; what does not fit (a span has
// room for 8 KiB, of which one text has 4 at most) is dropped or cut, and counted. A fathom_span whose first
// word is zero is no span, and every function but the starting ones ignores it. Works across fork(): the child has a
// memory of its own, and spans that were open in the parent are the parent's. Spans that are open when the program ends
// are lost, and so are all when no agent has been there by then; nobody counts those.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FATHOM_EXPORT __attribute__((visibility("default")))

enum fathom_kind {
  FATHOM_INTERNAL = 1,  // the numbers are OTLP's
  FATHOM_SERVER = 2,
  FATHOM_CLIENT = 3,
  FATHOM_PRODUCER = 4,
  FATHOM_CONSUMER = 5
};
enum fathom_status { FATHOM_UNSET = 0, FATHOM_OK = 1, FATHOM_ERROR = 2 };

typedef struct fathom_text {
  const char* data;
  size_t size;
} fathom_text;

// Where a span belongs: what travels between programs.
typedef struct fathom_context {
  uint8_t trace_id[16];
  uint8_t span_id[8];
  uint8_t flags;   // W3C's: bit 0 sampled, bit 1 random trace id
  uint8_t remote;  // 1: came from another process
  uint16_t state_size;
  char state[512];  // tracestate; after fathom_extract() as it came, our own entry included: the node before this one
} fathom_context;

typedef struct fathom_span {
  uint64_t opaque[64];  // 512 bytes; longer spans borrow memory of the library until they end
} fathom_span;

// ---- the program ---------------------------------------------------------------------------------------------------

// Names this program to whoever looks at its spans: attributes of its resource, as "key=value,key=value" with percent
// escapes. Overrides OTEL_RESOURCE_ATTRIBUTES; OTEL_SERVICE_NAME, when it is set, overrides both. Without any of them
// the service is the program's file name. May be called once, before or after the first span; not in a signal handler.
// All attributes together have some 16 KiB; one that does not fit is dropped, and counted as an attribute that was
// lost.
FATHOM_EXPORT void fathom_set_resource(fathom_text attributes);
// Spans that were lost so far in this process because its memory was full.
FATHOM_EXPORT uint64_t fathom_lost_spans(void);
// Waits until the agent has taken all finished spans; 0 when it has, -1 when the time passed, or at once when there is
// nobody to wait for: no agent is wanted, or none has been there yet and there is no socket that one could listen at.
// For the end of short programs that want to see their spans at once; never needed for safety where there is an agent,
// because it also reads what a dead program left.
FATHOM_EXPORT int fathom_flush(uint64_t timeout_nano);

// ---- spans ---------------------------------------------------------------------------------------------------------

// The starting functions take memory with anything in it, so an open span must be ended or discarded first: what it
// borrowed would never come back. (One that is active on this thread, which is noticed, is ended.)
//
// `parent` null, or with a trace id or a span id that is all zeros, which W3C says is none: the root of a new trace.
FATHOM_EXPORT void fathom_span_start(fathom_span* span, fathom_text name, enum fathom_kind kind,
                                     const fathom_context* parent);
// Child of the thread's active span; the root of a new trace when there is none.
FATHOM_EXPORT void fathom_span_start_here(fathom_span* span, fathom_text name, enum fathom_kind kind);
FATHOM_EXPORT void fathom_span_end(fathom_span* span);      // deactivates it first; then it is no span
FATHOM_EXPORT void fathom_span_discard(fathom_span* span);  // as if it had never been

FATHOM_EXPORT void fathom_span_set_name(fathom_span* span, fathom_text name);
// A key that is set again keeps its latest value.
FATHOM_EXPORT void fathom_span_set_string(fathom_span* span, fathom_text key, fathom_text value);
FATHOM_EXPORT void fathom_span_set_int(fathom_span* span, fathom_text key, int64_t value);
FATHOM_EXPORT void fathom_span_set_double(fathom_span* span, fathom_text key, double value);
FATHOM_EXPORT void fathom_span_set_bool(fathom_span* span, fathom_text key, int value);
FATHOM_EXPORT void fathom_span_set_status(fathom_span* span, enum fathom_status status, fathom_text message);
FATHOM_EXPORT void fathom_span_add_link(fathom_span* span, const fathom_context* other);  // null: none
FATHOM_EXPORT void fathom_span_add_event(fathom_span* span, fathom_text name);
// An attribute of the event or link that was added last.
FATHOM_EXPORT void fathom_detail_string(fathom_span* span, fathom_text key, fathom_text value);
FATHOM_EXPORT void fathom_detail_int(fathom_span* span, fathom_text key, int64_t value);
FATHOM_EXPORT void fathom_detail_double(fathom_span* span, fathom_text key, double value);
FATHOM_EXPORT void fathom_detail_bool(fathom_span* span, fathom_text key, int value);

// ---- the thread's active span --------------------------------------------------------------------------------------

// Makes it the thread's active span until it ends or is deactivated; then the one before is active again. Of a span
// that is active already it does nothing, and one deactivation is enough. An active span ends on the thread that
// activated it, before its memory goes.
FATHOM_EXPORT void fathom_span_activate(fathom_span* span);
FATHOM_EXPORT void fathom_span_deactivate(fathom_span* span);
// 0 and the active span's context, or -1 when this thread has none.
FATHOM_EXPORT int fathom_active_context(fathom_context* context);

// ---- several requests at once ---------------------------------------------------------------------------------------

// The set of requests that this thread works for, in the caller's memory: where batches are processed, one piece of
// work serves many. From the begin to the end of the set, the thread's events (fathom/event_c.h) belong to all of its
// members, and not to the span that was active before; where a span is started and activated meanwhile, to that span
// and to all members. Spans have one parent as ever: the thread's active span, not the set. Sets nest, the innermost
// counts; one is ended on the thread that began it, before its memory goes.
#define FATHOM_MOST_SERVED 16
typedef struct fathom_serving {
  uint64_t opaque[52];
} fathom_serving;
// Contexts beyond FATHOM_MOST_SERVED are dropped, and counted as lost details; empty ones are nobody's.
FATHOM_EXPORT void fathom_serve_begin(fathom_serving* serving, const fathom_context* contexts, size_t count);
FATHOM_EXPORT void fathom_serve_end(fathom_serving* serving);  // of one whose first word is zero: nothing

// ---- triggers -------------------------------------------------------------------------------------------------------

// This is worth keeping: the agent makes a capture of what is in its recorders for the trace of the thread's active
// span (without one: of the last moments of the process), and sends it to the server. Costs some tens of nanoseconds;
// of triggers that come faster than the agent allows (its rate limits, which it counts), and of all but the last 31
// until it looks, the detail is not kept. `reason`: 86 bytes at most, cut beyond that; shown with the capture. From any
// thread and any signal handler.
FATHOM_EXPORT void fathom_trigger(fathom_text reason);

// ---- across programs: W3C trace context ----------------------------------------------------------------------------

FATHOM_EXPORT void fathom_span_context(const fathom_span* span, fathom_context* context);
// 0, or -1 when `traceparent` is not one, as when its trace id or its parent id is all zeros; then the context is
// empty, and a span with it as parent begins a new trace. An invalid tracestate is ignored.
FATHOM_EXPORT int fathom_extract(fathom_text traceparent, fathom_text tracestate, fathom_context* context);
// traceparent: 55 bytes, and a zero. tracestate: at most `size` bytes with the zero, our own entry (the node that this
// request came through) leftmost; returns its length.
FATHOM_EXPORT void fathom_inject_parent(const fathom_context* context, char traceparent[56]);
FATHOM_EXPORT size_t fathom_inject_state(const fathom_context* context, char* tracestate, size_t size);

#ifdef __cplusplus
}
#endif
