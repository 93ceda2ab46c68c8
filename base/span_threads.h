// The attributes that say on which thread a span ran.
//
// Purpose: one spelling for the client, the agent and timelines. The agent adds kThreadId to every span that it takes
// from a program's memory; the client adds kStartThreadId to a span that starts on one thread and ends on another.
// Units: thread ids of the kernel, in the program's memory as the program sees them, in stored spans as the node sees
// them. The names are ours because OpenTelemetry's `thread.id` is the number that a runtime gives its threads (Java's
// and Go's are none of the kernel's), and a stored span does not say which of the two it has.
#pragma once

#include <string_view>

namespace fathom {

inline constexpr std::string_view kThreadId = "fathom.thread.id";             // it ended there
inline constexpr std::string_view kStartThreadId = "fathom.thread.start.id";  // it started there, if elsewhere

}  // namespace fathom
