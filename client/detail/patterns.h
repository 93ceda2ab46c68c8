// Patterns: which tracepoints are on, by their names.
//
// Purpose: "cache.*,-cache.hit": patterns, separated by commas, as base/name_pattern.h has them; a leading - switches
// off. The last one that fits counts; a tracepoint that none fits is as its code says. The program has a list (of its
// environment) and its agent has one; the agent's comes behind. Thread safety: is_on() from anywhere, without a lock;
// set_patterns() by one thread at a time. Errors: a list that is too long changes nothing.
#pragma once

#include <string_view>

#include "client/platform.h"

namespace fathom::client::detail {

enum class Says { kProgram, kAgent };

// Replaces the list of one of both. False: nothing changed.
bool set_patterns(Says who, std::string_view list);
// To be asked again behind what was done with is_on(): another one means that the answer may be another.
uint32_t patterns_version();
bool is_on(uint32_t version, std::string_view name, bool by_default);

}  // namespace fathom::client::detail
