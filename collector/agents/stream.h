// AgentStream: an AgentSession on a gRPC stream; its whole life in one object that owns itself until gRPC is done.
//
// Thread safety: as gRPC's reactors, and SessionWire from any thread. Ownership: make() hands out a reference; gRPC's
// is held by the object itself until OnDone().
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include "collector/agents/session.h"

namespace fathom::collector {

class AgentStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                    public SessionWire,
                    public std::enable_shared_from_this<AgentStream> {
 public:
  using Done = std::function<void(AgentStream*)>;

  AgentStream(std::shared_ptr<const SessionContext> context, grpc::CallbackServerContext& call, Done done)
      : context_(std::move(context)), call_(call), done_(std::move(done)) {}

  // Begins to read; from now on gRPC calls. A Hello must come within `hello_nano`, and later a whole message within
  // each `silence_nano`: what is begun and never ends holds memory that all streams share.
  void open(uint64_t hello_nano, uint64_t silence_nano);
  void drain() { session_->drain(); }
  void revoke(const std::string& why) { session_->refuse(StreamEnd::kRevoked, why); }

  bool send(std::string message) override;
  void end(StreamEnd end, const std::string& message) override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void expect_hello(uint64_t nano);
  void expect_message(uint64_t nano);
  void look_for_silence();
  void read_next();
  void handle(uint64_t received_unix_nano);
  void write_next();
  void drop_outgoing();
  void finish_when_written();

  const std::shared_ptr<const SessionContext> context_;
  grpc::CallbackServerContext& call_;  // gRPC's, until OnDone()
  const Done done_;
  std::shared_ptr<AgentSession> session_;
  std::shared_ptr<AgentStream> self_;  // until OnDone()
  grpc::Alarm hello_due_;
  grpc::ByteBuffer incoming_;
  uint64_t silence_nano_ = 0;
  std::atomic<uint64_t> heard_nano_{0};  // monotonic

  std::mutex mutex_;
  std::deque<std::string> outgoing_;
  uint64_t outgoing_bytes_ = 0;
  grpc::ByteBuffer writing_;
  bool is_writing_ = false;
  bool finished_ = false;
  std::unique_ptr<grpc::Alarm> silence_due_;  // a new one each time: it may be set from within its predecessor's call
  std::optional<grpc::Status> status_;        // once the stream is to end
};

}  // namespace fathom::collector
