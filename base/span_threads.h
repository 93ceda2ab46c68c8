// The attributes that name the threads of a span.
//
// Purpose: one spelling for the client, the agent and timelines. The agent adds kThreadId to every span that it reads
// from a program's memory. The client adds kStartThreadId to a span that starts on one thread and ends on another.
// Units: the kernel's thread ids: the program's in its memory, the node's in stored spans. The names are fathom's own
// because OpenTelemetry's `thread.id` is a number of the runtime in Java and Go, and a stored span does not say whether
// it is that or the kernel's.
#pragma once

#include <string_view>

namespace fathom {

inline constexpr std::string_view kThreadId = "fathom.thread.id";             // the span ended there
inline constexpr std::string_view kStartThreadId = "fathom.thread.start.id";  // the span started there, if elsewhere

}  // namespace fathom
