#include "node-agent/uplink/grpc_link.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "ingest/agent_messages.h"
#include "ingest/collector_messages.h"
#include "node-agent/uplink/grpc_channel.h"
#include "node-agent/uplink/outgoing.h"

namespace fathom::agent {

namespace {

constexpr const char* kMethod = "/fathom.ingest.v1.Ingest/Stream";
constexpr size_t kMostProbes = 16;  // that wait for their answers

using Kind = OutgoingMessage::Kind;
using Stub = grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>;

// Shows gRPC the bytes themselves, which lie in `owner`; they live until it has written them.
grpc::Slice slice_of(const std::shared_ptr<const std::string>& owner, std::string_view bytes) {
  auto* held = new std::shared_ptr<const std::string>(owner);
  return grpc::Slice(
      const_cast<char*>(bytes.data()), bytes.size(),
      [](void* owner) { delete static_cast<std::shared_ptr<const std::string>*>(owner); }, held);
}

grpc::ByteBuffer buffer_of(const OutgoingMessage& message) {
  std::vector<grpc::Slice> slices{grpc::Slice(message.head)};
  const std::string_view body = message.body && message.part.empty() ? std::string_view(*message.body) : message.part;
  if (!body.empty()) slices.push_back(slice_of(message.body, body));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string buffer_bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

class Reactor : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Reactor(GrpcLinkOptions options, LinkEvents events)
      : options_(std::move(options)), events_(std::move(events)), stub_(make_channel(options_.collector)) {}

  void open() {
    show_token(context_, options_.collector);
    stub_.PrepareBidiStreamingCall(&context_, kMethod, grpc::StubOptions(), this);
    AddHold();  // for writes from outside; until the last read
    StartRead(&incoming_);
    send({Kind::kReport, options_.hello, nullptr});  // written at once: nothing is before it
    StartCall();
  }

  void send(OutgoingMessage message) {
    std::lock_guard lock(mutex_);
    if (closing_) return;
    outgoing_.push(std::move(message));
    if (!is_writing_) write_next();
  }
  void close() { context_.TryCancel(); }

  // Waits until gRPC is done with this object; no event comes afterwards.
  void cancel_and_wait() {
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    done_changed_.wait(lock, [this] { return done_; });
  }

  void OnReadDone(bool ok) override {
    if (ok) {
      LocalInstant received = options_.now();
      hear(buffer_bytes(incoming_), received);
      StartRead(&incoming_);
      return;
    }
    std::lock_guard lock(mutex_);
    closing_ = true;
    outgoing_.clear();
    RemoveHold();
  }
  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    is_writing_ = false;
    if (ok && !closing_ && !outgoing_.empty()) write_next();
  }
  void OnDone(const grpc::Status& status) override {
    std::string why = explain_failure(status, options_.collector);
    if (why.empty()) why = status.ok() ? "the collector ended the stream" : "the stream broke";
    events_.ended(std::move(why));
    std::lock_guard lock(mutex_);
    done_ = true;
    done_changed_.notify_all();
  }

 private:
  struct Probe {
    uint64_t boot_nano = 0;
    uint64_t report = 0;  // was written before it
  };

  void write_next() {
    OutgoingMessage message = outgoing_.pop();
    if (message.kind == Kind::kProbe) message.head = begin_probe();
    if (message.kind == Kind::kReport) last_report_ = message.report;
    writing_ = buffer_of(message);
    is_writing_ = true;
    grpc::WriteOptions options;
    if (!outgoing_.empty()) options.set_buffer_hint();
    StartWrite(&writing_, options);
  }

  // As late as possible: what it waits behind other messages would count as its way.
  std::string begin_probe() {
    LocalInstant now = options_.now();
    probes_[now.real_nano] = {now.boot_nano, last_report_};
    if (probes_.size() > kMostProbes) probes_.erase(probes_.begin());
    return encode(ingest::ClockProbe{now.real_nano});
  }

  void hear(const std::string& bytes, const LocalInstant& received) {
    Result<ingest::CollectorMessage> message = ingest::parse_collector_message(bytes);
    if (!message) return close();
    std::visit([&](auto& said) { take(std::move(said), received); }, *message);
  }
  void take(ingest::UnknownMessage&&, const LocalInstant&) {}
  void take(ingest::Welcome&& welcome, const LocalInstant&) { events_.welcome(std::move(welcome)); }
  void take(ingest::Ack&& ack, const LocalInstant&) { events_.ack(std::move(ack)); }
  void take(ingest::CaptureProgress&& progress, const LocalInstant&) { events_.progress(std::move(progress)); }
  void take(LinkControl&& asked, const LocalInstant&) { events_.asked(std::move(asked)); }
  void take(ingest::ClockReply&& answer, const LocalInstant& received) {
    Probe sent;
    {
      std::lock_guard lock(mutex_);
      auto probe = probes_.find(answer.probe_sent_unix_nano);
      if (probe == probes_.end()) return;
      sent = probe->second;
      probes_.erase(probe);
    }
    ProbeTimes times{sent.boot_nano, answer.received_unix_nano, answer.sent_unix_nano, received.boot_nano};
    events_.probed({times, sent.report});
  }

  const GrpcLinkOptions options_;
  const LinkEvents events_;
  Stub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer incoming_;

  std::mutex mutex_;
  std::condition_variable done_changed_;
  Outgoing outgoing_;
  grpc::ByteBuffer writing_;
  std::map<uint64_t, Probe> probes_;  // by what they say
  uint64_t last_report_ = 0;          // written, or being written
  bool is_writing_ = false;
  bool closing_ = false;
  bool done_ = false;
};

class GrpcLink : public Link {
 public:
  GrpcLink(GrpcLinkOptions options, LinkEvents events) : reactor_(std::move(options), std::move(events)) {
    reactor_.open();
  }
  ~GrpcLink() override { reactor_.cancel_and_wait(); }

  void send(std::string head, std::shared_ptr<const std::string> body) override {
    reactor_.send({Kind::kBatch, std::move(head), std::move(body)});
  }
  void report(std::string message, uint64_t number) override {
    reactor_.send({Kind::kReport, std::move(message), nullptr, number});
  }
  void send_capture(std::string head, std::shared_ptr<const std::string> content, std::string_view part) override {
    reactor_.send({Kind::kCapture, std::move(head), std::move(content), 0, part});
  }
  void answer(std::string message) override { reactor_.send({Kind::kAnswer, std::move(message), nullptr}); }
  void probe() override { reactor_.send({Kind::kProbe, "", nullptr}); }
  void close() override { reactor_.close(); }

 private:
  Reactor reactor_;
};

}  // namespace

std::unique_ptr<Link> open_grpc_link(GrpcLinkOptions options, LinkEvents events) {
  return std::make_unique<GrpcLink>(std::move(options), std::move(events));
}

}  // namespace fathom::agent
