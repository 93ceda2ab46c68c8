#include "bench/ingest_sink.h"

#include <grpcpp/grpcpp.h>

#include "base/time.h"
#include "bench/sink.h"
#include "ingest.grpc.pb.h"

namespace fathom::bench {

namespace {

namespace wire = fathom::ingest::v1;
using Stream = grpc::ServerReaderWriter<wire::CollectorMessage, wire::AgentMessage>;

wire::CollectorMessage welcome() {
  wire::CollectorMessage answer;
  answer.mutable_welcome()->set_protocol_version(1);
  answer.mutable_welcome()->set_max_batch_bytes(32 << 20);
  answer.mutable_welcome()->set_max_unacknowledged_bytes(64 << 20);
  answer.mutable_welcome()->set_max_unacknowledged_batches(64);
  return answer;
}

wire::CollectorMessage acknowledgement(const wire::Batch& batch) {
  wire::CollectorMessage answer;
  answer.mutable_ack()->set_sequence(batch.sequence());
  answer.mutable_ack()->set_outcome(wire::Ack::DURABLE);
  return answer;
}

wire::CollectorMessage clock_reply(const wire::ClockProbe& probe) {
  wire::CollectorMessage answer;
  answer.mutable_reply()->set_probe_sent_unix_nano(probe.sent_unix_nano());
  answer.mutable_reply()->set_received_unix_nano(now_unix_nano());
  answer.mutable_reply()->set_sent_unix_nano(now_unix_nano());
  return answer;
}

class Sink : public wire::Ingest::Service {
  grpc::Status Stream(grpc::ServerContext*, bench::Stream* stream) override {
    wire::AgentMessage message;
    while (stream->Read(&message)) {
      if (message.has_hello()) stream->Write(welcome());
      if (message.has_batch()) stream->Write(acknowledgement(message.batch()));
      if (message.has_probe()) stream->Write(clock_reply(message.probe()));
    }
    return grpc::Status::OK;
  }
};

}  // namespace

int run_ingest_sink(int ready_fd) {
  Sink sink;
  return run_sink("ingest", ready_fd, [&](grpc::ServerBuilder& builder) { builder.RegisterService(&sink); });
}

}  // namespace fathom::bench
