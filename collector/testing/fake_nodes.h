// FakeNodes: a NodePort whose nodes are scripted: who is connected, who takes nothing, and what each was sent.
//
// Header-only. Thread safety: all of it.
#pragma once

#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "collector/agents/control.h"
#include "collector/control/control_metrics.h"
#include "ingest.pb.h"

namespace fathom::collector::testing {

namespace wire = fathom::ingest::v1;

inline NodeId node_id(char name) {
  NodeId id;
  id.bytes.fill(static_cast<uint8_t>(name));
  return id;
}

inline uint64_t counted_unanswered(const std::string& kind, const char* reason) {
  return RequestMetrics::unanswered(kind, reason).value();
}

class FakeNodes : public NodePort {
 public:
  // Over a new stream, also when it is there already.
  void connect(char name) {
    std::lock_guard lock(mutex_);
    connected_[name] = ++last_stream_;
  }
  // A node from before holds existed.
  void hold_nothing(char name) {
    std::lock_guard lock(mutex_);
    without_holds_.insert(name);
  }
  void disconnect(char name) {
    std::lock_guard lock(mutex_);
    connected_.erase(name);
  }
  void refuse(char name) {
    std::lock_guard lock(mutex_);
    refusing_.insert(name);
  }
  void accept(char name) {
    std::lock_guard lock(mutex_);
    refusing_.erase(name);
  }
  // What the node was sent since this was called last.
  std::vector<wire::CollectorMessage> take(char name) {
    std::lock_guard lock(mutex_);
    return std::exchange(sent_[name], {});
  }

  // The rules of tracepoints that it was sent since this was called last: each message as "+a,-b@service".
  std::vector<std::string> take_rules(char name) {
    std::lock_guard lock(mutex_);
    return std::exchange(rules_[name], {});
  }

  std::vector<ConnectedNode> connected() const override {
    std::lock_guard lock(mutex_);
    std::vector<ConnectedNode> nodes;
    for (auto [name, stream] : connected_)
      nodes.push_back(
          {node_id(name), std::string("host-") + name, stream, without_holds_.contains(name) ? 0 : kNanosPerMinute});
    return nodes;
  }
  bool send(const NodeId& node, std::string message) override {
    wire::CollectorMessage read;
    if (!read.ParseFromString(message)) std::abort();
    if (!keep(static_cast<char>(node.bytes[0]), read)) return false;
    if (on_send) on_send(node, read);
    return true;
  }

  // What the nodes do at once with what they are sent, on the thread that sends; set before anything is.
  std::function<void(const NodeId& node, const wire::CollectorMessage& message)> on_send;

 private:
  static std::string words_of(const wire::TracepointRules& rules) {
    std::string words;
    for (const wire::TracepointRule& rule : rules.rules()) {
      words.append(words.empty() ? "" : ",").append(rule.enables() ? "+" : "-").append(rule.pattern());
      if (!rule.service().empty()) words.append("@").append(rule.service());
    }
    return words;
  }
  bool keep(char name, const wire::CollectorMessage& message) {
    std::lock_guard lock(mutex_);
    if (!connected_.contains(name) || refusing_.contains(name)) return false;
    if (message.has_tracepoint_rules()) {
      rules_[name].push_back(words_of(message.tracepoint_rules()));
    } else {
      sent_[name].push_back(message);
    }
    return true;
  }

  mutable std::mutex mutex_;
  uint64_t last_stream_ = 0;
  std::map<char, uint64_t> connected_;
  std::set<char> refusing_;
  std::set<char> without_holds_;
  std::map<char, std::vector<wire::CollectorMessage>> sent_;
  std::map<char, std::vector<std::string>> rules_;
};

}  // namespace fathom::collector::testing
