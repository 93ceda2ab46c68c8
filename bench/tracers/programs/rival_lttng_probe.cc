// LTTng-UST's code for the event: its headers write it where these names are defined, in one source of a program.
#define _LGPL_SOURCE  // NOLINT(bugprone-reserved-identifier): LTTng's
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/tracers/programs/lttng_event.h"
