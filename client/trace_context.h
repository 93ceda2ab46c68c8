// W3C trace context: the headers `traceparent` and `tracestate` to and from a fathom_context.
//
// Purpose: strict reading, so that what we pass on is always valid. Our own entry of tracestate is "fathom=<node id>":
// the node that the request came through. Thread safety: plain functions. Errors: false, and the output is not to be
// used.
#pragma once

#include <string_view>

#include "client/fathom/trace_c.h"

namespace fathom::client {

inline constexpr std::string_view kStateKey = "fathom";
inline constexpr size_t kMostStateBytes = sizeof(fathom_context::state);

bool parse_parent(std::string_view text, fathom_context& context);
void format_parent(const fathom_context& context, char out[56]);

// The members of a valid tracestate, without space around them, at most 512 bytes; 0 for one that is not valid. When it
// has to become shorter, members of more than 128 bytes go first, then those at the right, always whole.
size_t parse_state(std::string_view text, char out[kMostStateBytes]);
// Our entry (none when `node` is empty), then the others, without the old one of ours, in at most `room` bytes.
size_t format_state(std::string_view state, std::string_view node, char* out, size_t room);
// All entries but ours.
size_t state_of_others(std::string_view state, char* out, size_t room);

}  // namespace fathom::client
