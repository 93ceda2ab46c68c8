// What people may ask nodes to do, as the query face understands it; who speaks with the nodes is not its business.
//
// Purpose: POST /api/v1/captures and /api/v1/tracepoints without a word about the collector; the program wires the two.
// Thread safety: a Control is called from any thread, must not wait, and calls `done` once, later, from any thread.
// Ownership: plain values. Errors, to `done`: kNotFound (the node that is named is not connected), kInvalid (several
// are called so), kUnavailable (no node is connected; too much is asked at once). Units: in names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace fathom::query {

// Whose detail: of a trace, of a process, or of a service: one of them.
struct CaptureAsk {
  TraceId trace_id;  // zero: not by trace
  uint32_t pid = 0;
  std::string service;
  std::string node;            // its host's name, or its id or the begin of that; empty: all
  uint64_t duration_nano = 0;  // 0: for a trace, what its spans last
  bool ahead = false;          // the next `duration_nano`, not the last
  std::string reason;
  bool operator==(const CaptureAsk&) const = default;
};

struct NodeCaptures {
  std::string node_id;  // hexadecimal
  std::string host_name;
  std::vector<std::string> captures;  // their ids, hexadecimal: they are made, and will be stored soon
  std::string skipped;                // why there are none, or not all
  std::string failure;                // why the node said nothing
};
struct CaptureReplies {
  uint64_t request_id = 0;
  std::vector<NodeCaptures> nodes;
};

enum class TracepointAction : uint8_t { kList, kEnable, kDisable };
struct TracepointAsk {
  TracepointAction action = TracepointAction::kList;
  std::vector<std::string> patterns;  // of names; none: all (kList only)
  uint32_t pid = 0;
  std::string service;
  std::string node;
  bool operator==(const TracepointAsk&) const = default;
};

struct TracepointRow {
  std::string name;
  std::string file;
  uint32_t line = 0;
  bool on = false;
};
struct ProgramRow {
  uint32_t pid = 0;
  std::string service;
  std::vector<TracepointRow> tracepoints;  // that a pattern fits, as they are now
  bool truncated = false;
};
struct NodeTracepoints {
  std::string node_id;
  std::string host_name;
  std::vector<ProgramRow> programs;
  bool truncated = false;
  std::string failure;  // why the node could not, or said nothing
};
struct TracepointReplies {
  uint64_t request_id = 0;
  std::vector<NodeTracepoints> nodes;
};

struct TracepointRuleRow {
  bool enables = false;
  std::string pattern;
  std::string service;  // empty: any
  std::string node_id;  // hexadecimal; empty: every
};
struct TracepointRuleRows {
  std::vector<TracepointRuleRow> rules;  // in the order in which they were said
};

class Control {
 public:
  template <typename Replies>
  using Done = std::function<void(Result<Replies>)>;

  virtual ~Control() = default;
  virtual void capture(CaptureAsk ask, Done<CaptureReplies> done) = 0;
  virtual void tracepoints(TracepointAsk ask, Done<TracepointReplies> done) = 0;
  // What nodes that connect are told of tracepoints.
  virtual void tracepoint_rules(Done<TracepointRuleRows> done) = 0;
};

std::string to_json(const CaptureReplies& replies);  // docs/api.md has the form
std::string to_json(const TracepointReplies& replies);
std::string to_json(const TracepointRuleRows& rules);

}  // namespace fathom::query
