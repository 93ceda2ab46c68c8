// Call trees as text that tests compare: one line per node, children in the order of their functions' addresses.
#pragma once

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <vector>

#include "snapshot/decode/call_tree.h"

namespace fathom::snapshot {

inline std::string hex_text(uint64_t number) {
  char text[17];
  return std::string(text, std::to_chars(text, text + sizeof text, number, 16).ptr);
}

inline std::string function_text(const CallFunction* function) {
  if (function == nullptr) return "thread";
  if (function->gap != GapReason::kNone) return "[" + std::string(gap_reason_name(function->gap)) + "]";
  return hex_text(function->entry != 0 ? function->entry : function->begin) +
         (function->symbol ? "" : (function->entry != 0 ? "+" : "?"));
}

inline std::string stats_text(const CallStats& stats) {
  std::string text;
  auto say = [&](const char* name, uint64_t number) {
    if (number > 0) text += std::string(text.empty() ? "" : ", ") + name + " " + std::to_string(number);
  };
  say("calls", stats.calls);
  say("insns", stats.instructions);
  say("ticks", stats.ticks);
  say("pauses", stats.pauses);
  say("paused", stats.pause_ticks);
  say("complete", stats.complete);
  if (stats.complete == 0) return text;
  say("in", stats.complete_ticks);
  say("min", stats.min_ticks);
  say("max", stats.max_ticks);
  return text;
}

inline std::string tree_text(const CallTree& tree) {
  std::map<uint32_t, std::vector<uint32_t>> children;
  for (uint32_t i = 1; i < tree.size(); ++i) children[tree[i].parent].push_back(i);
  std::string out;
  auto write = [&](auto& self, uint32_t node, const std::string& indent) -> void {
    out += indent + function_text(tree[node].function) + ": " + stats_text(tree[node].stats) + "\n";
    std::map<std::string, uint32_t> named;
    for (uint32_t child : children[node]) named[function_text(tree[child].function)] = child;
    for (const auto& [name, child] : named) self(self, child, indent + " ");
  };
  write(write, CallTree::kRoot, "");
  return out;
}

}  // namespace fathom::snapshot
