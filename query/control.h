// What people may ask nodes to do, as the query face understands it; who speaks with the nodes is not its business.
//
// Purpose: POST /api/v1/captures and /api/v1/tracepoints without a word about the collector; the program wires the two.
// Requests and answers are ingest/control.h's; only the name of a node is a person's. Thread safety: a Control is
// called from any thread, must not wait, and calls `done` once, later, from any thread. Ownership: plain values.
// Errors, to `done`: kNotFound (the node that is named is not connected), kInvalid (several are called so),
// kUnavailable (no node is connected; too much is asked at once). Units: in names.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ingest/control.h"

namespace fathom::query {

// `node`: its host's name, its id, or the first digits of its id; empty: all. The Control fills in the request's window
// and node.
struct CaptureAsk {
  // Of a trace, of a process, or of a service: one of them. `duration_nano` 0: of a trace, what its spans last.
  ingest::CaptureRequest request;
  std::string node;
  bool ahead = false;  // the next `duration_nano`, not the last
  bool operator==(const CaptureAsk&) const = default;
};
struct TracepointAsk {
  ingest::TracepointRequest request;
  std::string node;
  bool operator==(const TracepointAsk&) const = default;
};

template <typename Answer>
struct NodeReply {
  ingest::NodeId node_id;
  std::string host_name;
  std::optional<Answer> answer;
  std::string failure;  // why there is no answer
};
template <typename Answer>
struct Replies {
  uint64_t request_id = 0;
  std::vector<NodeReply<Answer>> nodes;
};
using CaptureReplies = Replies<ingest::CaptureAnswer>;  // captures that are made, and will be stored soon
using TracepointReplies = Replies<ingest::TracepointAnswer>;
using TracepointRules = std::vector<ingest::TracepointRule>;  // in the order in which they were said

class Control {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;

  virtual ~Control() = default;
  virtual void capture(CaptureAsk ask, Done<CaptureReplies> done) = 0;
  virtual void tracepoints(TracepointAsk ask, Done<TracepointReplies> done) = 0;
  // What nodes that connect are told of tracepoints.
  virtual void tracepoint_rules(Done<TracepointRules> done) = 0;
};

std::string to_json(const CaptureReplies& replies);  // docs/api.md has the form
std::string to_json(const TracepointReplies& replies);
std::string to_json(const TracepointRules& rules);

}  // namespace fathom::query
