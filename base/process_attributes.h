// The resource attributes that say which process of which node the spans are of.
//
// Purpose: one spelling for the agent and for queries. A program in a container names its host and its process id
// otherwise than captures do, which have the node's numbers; so the agent adds what it knows to the resource of each
// program that it reads. A program cannot set them: the agent leaves out what the program says of them. Whoever sends
// spans over OTLP can. Units: the process id as the agent's node numbers it, a positive integer; the node's id as 32
// hexadecimal digits.
#pragma once

#include <string_view>

namespace fathom {

inline constexpr std::string_view kProcessIdAttribute = "fathom.process.id";
inline constexpr std::string_view kNodeIdAttribute = "fathom.node.id";

}  // namespace fathom
