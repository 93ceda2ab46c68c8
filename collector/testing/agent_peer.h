// What an agent says and hears, for tests: its messages as bytes, and a wire that keeps what a session answers.
//
// Header-only, because tests and the fuzz target share it. Thread safety: RecordingWire all of it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collector/agents/session.h"
#include "ingest.pb.h"

namespace fathom::collector::testing {

namespace wire = fathom::ingest::v1;

inline wire::AgentMessage hello(char node = 'n', char instance = 'i') {
  wire::AgentMessage message;
  message.mutable_hello()->set_protocol_version(1);
  message.mutable_hello()->set_node_id(std::string(16, node));
  message.mutable_hello()->set_instance_id(std::string(16, instance));
  message.mutable_hello()->set_host_name(std::string("host-") + node);
  message.mutable_hello()->set_agent_version("0.1.0");
  return message;
}

inline wire::AgentMessage batch(uint64_t sequence, std::string otlp, char identity = 'b') {
  wire::AgentMessage message;
  message.mutable_batch()->set_sequence(sequence);
  message.mutable_batch()->set_identity(std::string(16, identity));
  message.mutable_batch()->set_otlp(std::move(otlp));
  return message;
}

inline wire::AgentMessage probe(uint64_t sent) {
  wire::AgentMessage message;
  message.mutable_probe()->set_sent_unix_nano(sent);
  return message;
}

class RecordingWire : public SessionWire {
 public:
  bool send(std::string message) override {
    std::lock_guard lock(mutex_);
    wire::CollectorMessage read;
    if (!read.ParseFromString(message)) std::abort();
    if (!end_) messages_.push_back(std::move(read));
    changed_.notify_all();
    return messages_.size() < most_;
  }
  void end(StreamEnd end, const std::string& message) override {
    std::lock_guard lock(mutex_);
    if (!end_) end_ = end, why_ = message;
    changed_.notify_all();
  }

  std::vector<wire::CollectorMessage> messages() {
    std::lock_guard lock(mutex_);
    return messages_;
  }
  std::vector<wire::Ack> acks() {
    std::vector<wire::Ack> acks;
    for (const wire::CollectorMessage& message : messages()) {
      if (message.has_ack()) acks.push_back(message.ack());
    }
    return acks;
  }
  std::optional<StreamEnd> ended() {
    std::lock_guard lock(mutex_);
    return end_;
  }
  std::string why() {
    std::lock_guard lock(mutex_);
    return why_;
  }
  void read_no_more_than(size_t messages) { most_ = messages; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<wire::CollectorMessage> messages_;
  std::optional<StreamEnd> end_;
  std::string why_;
  size_t most_ = SIZE_MAX;
};

}  // namespace fathom::collector::testing
