// Resource attributes that name the process, and the node, of a program's spans.
//
// Purpose: one spelling for the agent and for queries. Captures identify a process by the node's numbers. A program in
// a container knows other names for its host and its process, so the agent adds the node's numbers to the resource of
// each program that it reads. A program cannot set these attributes, because the agent discards its values; a sender of
// spans over OTLP can. Units: the process id in the node's pid namespace, a positive integer; the node's id as 32
// hexadecimal digits.
#pragma once

#include <string_view>

namespace fathom {

inline constexpr std::string_view kProcessIdAttribute = "fathom.process.id";
inline constexpr std::string_view kNodeIdAttribute = "fathom.node.id";

}  // namespace fathom
