// What an agent says and hears, for tests: its messages as bytes, and a wire that keeps what a session answers.
//
// Header-only, because tests and the fuzz target share it. Thread safety: RecordingWire all of it.
#pragma once

#include <chrono>
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

// Ids are one letter, sixteen times.
inline wire::AgentMessage capture_begin(char id, uint64_t size_bytes) {
  wire::AgentMessage message;
  message.mutable_capture_begin()->set_capture_id(std::string(16, id));
  message.mutable_capture_begin()->set_trigger(wire::CAPTURE_TRIGGER_SLOW);
  message.mutable_capture_begin()->set_service("checkout");
  message.mutable_capture_begin()->set_start_unix_nano(1000);
  message.mutable_capture_begin()->set_end_unix_nano(2000);
  message.mutable_capture_begin()->set_size_bytes(size_bytes);
  return message;
}
inline wire::AgentMessage capture_part(char id, uint64_t offset, std::string content) {
  wire::AgentMessage message;
  message.mutable_capture_part()->set_capture_id(std::string(16, id));
  message.mutable_capture_part()->set_offset(offset);
  message.mutable_capture_part()->set_content(std::move(content));
  return message;
}

// Trace ids are sixteen times the same letter.
inline wire::AgentMessage skipped_captures(char trace, size_t count = 1) {
  wire::AgentMessage message;
  for (size_t i = 0; i < count; ++i) {
    wire::SkippedCapture& one = *message.mutable_skipped_captures()->add_captures();
    one.set_trace_id(std::string(16, trace));
    one.set_trigger(wire::CAPTURE_TRIGGER_SLOW);
    one.set_reason(wire::SKIP_REASON_MEMORY);
    one.set_service("checkout");
    one.set_pid(7);
  }
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
  std::vector<wire::CaptureProgress> progress() {
    std::lock_guard lock(mutex_);
    return progress_of();
  }
  // Until there is an answer for good to so many captures; false after two minutes.
  bool wait_for_answers(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(120), [&] { return answers() >= count; });
  }
  // Until so many bytes of this capture are taken.
  bool wait_for_taken(char id, uint64_t bytes) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(120), [&] {
      for (const wire::CaptureProgress& progress : progress_of()) {
        if (progress.capture_id()[0] == id && progress.taken_bytes() >= bytes) return true;
      }
      return false;
    });
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
  std::vector<wire::CaptureProgress> progress_of() const {
    std::vector<wire::CaptureProgress> progress;
    for (const wire::CollectorMessage& message : messages_) {
      if (message.has_capture_progress()) progress.push_back(message.capture_progress());
    }
    return progress;
  }
  size_t answers() const {
    size_t count = 0;
    for (const wire::CaptureProgress& progress : progress_of())
      count += progress.state() != wire::CaptureProgress::TAKEN;
    return count;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<wire::CollectorMessage> messages_;
  std::optional<StreamEnd> end_;
  std::string why_;
  size_t most_ = SIZE_MAX;
};

}  // namespace fathom::collector::testing
