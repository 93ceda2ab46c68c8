// LTTng-UST's description of an event with a payload of 4 bytes, in the form that its headers read several times. Two
// of a kind, because a channel is chosen by the event's name.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER fathom_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench/tracers/programs/lttng_event.h"

#if !defined(FATHOM_BENCH_TRACERS_PROGRAMS_LTTNG_EVENT_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define FATHOM_BENCH_TRACERS_PROGRAMS_LTTNG_EVENT_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(fathom_bench, event, LTTNG_UST_TP_ARGS(int, payload),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, payload, payload)))
LTTNG_UST_TRACEPOINT_EVENT(fathom_bench, event_small, LTTNG_UST_TP_ARGS(int, payload),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, payload, payload)))

#endif

#include <lttng/tracepoint-event.h>
