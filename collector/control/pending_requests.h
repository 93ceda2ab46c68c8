// PendingRequests: what nodes were asked and have not all answered yet.
//
// Purpose: one request goes to several nodes; it is over when each has answered, has gone, or had its time. Thread
// safety: one thread; `done` is called on it, exactly once per request, when the request is known no more. Ownership:
// plain values. Units: monotonic nanoseconds. Bounds: as PendingLimits says; whoever adds looks at is_full() before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/agents/control.h"

namespace fathom::collector {

template <typename Answer>
struct NodeReply {
  ConnectedNode node;
  std::optional<Answer> answer;
  std::string failure;  // why there is no answer: for people
};

// What of all answers to one request is kept.
struct AnswerRoom {
  size_t programs = 10'000;
  size_t tracepoints = 100'000;
};
struct PendingLimits {
  size_t requests = 64;
  AnswerRoom room;
};

// What there is room for, which becomes less by it.
inline void keep_within(AnswerRoom&, CaptureAnswer&) {}
inline void keep_within(AnswerRoom& room, TracepointAnswer& answer) {
  if (answer.programs.size() > room.programs) {
    answer.programs.resize(room.programs);
    answer.programs.shrink_to_fit();
    answer.truncated = true;
  }
  room.programs -= answer.programs.size();
  for (ProgramTracepoints& program : answer.programs) {
    if (program.tracepoints.size() > room.tracepoints) {
      program.tracepoints.resize(room.tracepoints);
      program.tracepoints.shrink_to_fit();
      program.truncated = answer.truncated = true;
    }
    room.tracepoints -= program.tracepoints.size();
  }
}

template <typename Answer>
class PendingRequests {
 public:
  using Replies = std::vector<NodeReply<Answer>>;
  using Done = std::function<void(Replies)>;

  explicit PendingRequests(const PendingLimits& limits) : limits_(limits) {}

  // A reply that has a failure already is not waited for.
  void add(uint64_t request_id, uint64_t deadline_nano, Replies replies, Done done) {
    Request request{deadline_nano, std::move(replies), std::move(done), limits_.room};
    if (is_over(request)) return request.done(std::move(request.replies));
    requests_.emplace(request_id, std::move(request));
  }

  // False when nobody waits for this answer (any more).
  bool answered(const NodeId& node, Answer answer) {
    auto found = requests_.find(answer.request_id);
    if (found == requests_.end()) return false;
    for (NodeReply<Answer>& reply : found->second.replies) {
      if (reply.node.node_id != node || !is_open(reply)) continue;
      keep_within(found->second.room, answer);
      reply.answer = std::move(answer);
      end_if_over(found);
      return true;
    }
    return false;
  }

  // The number of answers that will not come.
  // All but what it was asked over that stream of it; 0: it has none.
  size_t gone(const NodeId& node, uint64_t newer_stream) {
    return give_up(
        [&](const Request&, const NodeReply<Answer>& reply) {
          return reply.node.node_id == node && reply.node.stream != newer_stream;
        },
        "the node has gone");
  }
  size_t expire(uint64_t now_nano) {
    return give_up([&](const Request& request, const NodeReply<Answer>&) { return request.deadline_nano <= now_nano; },
                   "the node did not answer in time");
  }
  size_t end_all(const std::string& why) {
    return give_up([](const Request&, const NodeReply<Answer>&) { return true; }, why);
  }

  bool is_full() const { return requests_.size() >= limits_.requests; }
  uint64_t next_deadline_nano() const {
    uint64_t next = UINT64_MAX;
    for (const auto& [id, request] : requests_) next = std::min(next, request.deadline_nano);
    return next;
  }

 private:
  struct Request {
    uint64_t deadline_nano = 0;
    Replies replies;
    Done done;
    AnswerRoom room;
  };
  using Requests = std::map<uint64_t, Request>;

  static bool is_open(const NodeReply<Answer>& reply) { return !reply.answer && reply.failure.empty(); }
  static bool is_over(const Request& request) {
    return std::none_of(request.replies.begin(), request.replies.end(), is_open);
  }

  typename Requests::iterator end_if_over(typename Requests::iterator at) {
    if (!is_over(at->second)) return std::next(at);
    Request request = std::move(at->second);
    auto next = requests_.erase(at);
    request.done(std::move(request.replies));
    return next;
  }

  template <typename Applies>
  size_t give_up(Applies applies, const std::string& why) {
    size_t given_up = 0;
    for (auto at = requests_.begin(); at != requests_.end();) {
      for (NodeReply<Answer>& reply : at->second.replies) {
        if (!is_open(reply) || !applies(at->second, reply)) continue;
        reply.failure = why;
        ++given_up;
      }
      at = end_if_over(at);
    }
    return given_up;
  }

  const PendingLimits limits_;
  Requests requests_;
};

}  // namespace fathom::collector
