#include "bench/load_client.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/time.h"

namespace fathom::bench {

namespace {

constexpr char kExport[] = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
constexpr uint64_t kRetryAfterNano = 50'000'000;
constexpr uint64_t kForever = UINT64_MAX;

grpc::ByteBuffer to_buffer(const ExportRequest& request) {
  grpc::Slice slices[2] = {{request.head.data(), request.head.size()}, {request.body.data(), request.body.size()}};
  return {slices, 2};
}

gpr_timespec deadline_of(uint64_t monotonic_nano) {
  if (monotonic_nano == kForever) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  return {static_cast<int64_t>(monotonic_nano / kNanosPerSecond),
          static_cast<int32_t>(monotonic_nano % kNanosPerSecond), GPR_CLOCK_MONOTONIC};
}

std::shared_ptr<grpc::Channel> make_channel(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

// One request on its way; made anew for each attempt, because gRPC's contexts are for one call.
struct Call {
  grpc::ByteBuffer request;
  uint32_t spans = 0;
  uint64_t due_monotonic_nano = 0;
  uint64_t first_sent_monotonic_nano = 0;
  grpc::ClientContext context;
  grpc::ByteBuffer reply;
  grpc::Status status;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
};

struct Retry {
  uint64_t at_monotonic_nano;
  std::unique_ptr<Call> call;
};

}  // namespace

struct LoadClient::Impl {
  explicit Impl(LoadOptions given) : options(std::move(given)) {
    for (size_t i = 0; i < options.connections; ++i)
      stubs.push_back(std::make_unique<grpc::GenericStub>(make_channel(options.target)));
  }
  ~Impl() {
    for (auto& [tag, call] : calls) call->context.TryCancel();
    while (!calls.empty()) take_one(kForever);
    queue.Shutdown();
    void* tag;
    bool ok;
    while (queue.Next(&tag, &ok)) continue;
  }

  void start(std::unique_ptr<Call> call) {
    Call* raw = call.get();
    raw->reader = stubs[next_stub++ % stubs.size()]->PrepareUnaryCall(&raw->context, kExport, raw->request, &queue);
    raw->reader->StartCall();
    raw->reader->Finish(&raw->reply, &raw->status, raw);
    calls.emplace(raw, std::move(call));
  }

  // Waits for one completion, but not beyond `until`; starts the retries that fall due. False when the time is up.
  bool take_one(uint64_t until_monotonic_nano) {
    start_due_retries();
    uint64_t wake =
        retries.empty() ? until_monotonic_nano : std::min(until_monotonic_nano, retries.front().at_monotonic_nano);
    void* tag = nullptr;
    bool ok = false;
    if (queue.AsyncNext(&tag, &ok, deadline_of(wake)) != grpc::CompletionQueue::GOT_EVENT)
      return wake != until_monotonic_nano;
    auto found = calls.find(static_cast<Call*>(tag));
    std::unique_ptr<Call> call = std::move(found->second);
    calls.erase(found);
    settle(std::move(call));
    return true;
  }

  void start_due_retries() {
    while (!retries.empty() && retries.front().at_monotonic_nano <= now_monotonic_nano()) {
      start(std::move(retries.front().call));
      retries.pop_front();
    }
  }

  void settle(std::unique_ptr<Call> call) {
    if (call->status.error_code() == grpc::StatusCode::UNAVAILABLE) return refused(std::move(call));
    // Full success is an empty reply; anything in it is a partial success, which this load must not meet.
    if (!call->status.ok() || call->reply.Length() != 0) return failed(*call);
    ++counts.requests_acked;
    counts.spans_acked += call->spans;
    uint64_t now = now_monotonic_nano();
    counts.ack.record(now > call->due_monotonic_nano ? now - call->due_monotonic_nano : 0);
  }

  void refused(std::unique_ptr<Call> call) {
    ++counts.refused;
    if (!options.retry_refused) return;
    if (now_monotonic_nano() > call->first_sent_monotonic_nano + options.give_up_nano) return failed(*call);
    auto again = std::make_unique<Call>();
    again->request = call->request;
    again->spans = call->spans;
    again->due_monotonic_nano = call->due_monotonic_nano;
    again->first_sent_monotonic_nano = call->first_sent_monotonic_nano;
    retries.push_back({now_monotonic_nano() + kRetryAfterNano, std::move(again)});
  }

  void failed(const Call& call) {
    ++counts.failed;
    if (!counts.first_failure.empty()) return;
    counts.first_failure = call.status.ok() ? "a partial success" : call.status.error_message();
  }

  size_t under_way() const { return calls.size() + retries.size(); }

  LoadOptions options;
  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
  size_t next_stub = 0;
  std::unordered_map<Call*, std::unique_ptr<Call>> calls;
  std::deque<Retry> retries;
  LoadCounts counts;
};

LoadClient::LoadClient(LoadOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
LoadClient::~LoadClient() = default;
const LoadCounts& LoadClient::counts() const {
  return impl_->counts;
}

void LoadClient::send(const ExportRequest& request, uint64_t due_monotonic_nano) {
  while (impl_->under_way() >= impl_->options.in_flight) impl_->take_one(kForever);
  auto call = std::make_unique<Call>();
  call->request = to_buffer(request);
  call->spans = request.spans;
  call->due_monotonic_nano = due_monotonic_nano;
  call->first_sent_monotonic_nano = now_monotonic_nano();
  impl_->start(std::move(call));
  while (impl_->take_one(0)) continue;
}

void LoadClient::serve_until(uint64_t monotonic_nano) {
  while (impl_->take_one(monotonic_nano)) continue;
}

void LoadClient::drain() {
  while (impl_->under_way() != 0) impl_->take_one(kForever);
}

void send_closed_loop(Exporters& exporters, LoadClient& client, const std::function<void(uint64_t)>& progress) {
  ExportRequest request;
  uint64_t spans = 0;
  while (exporters.next(request) && client.counts().failed == 0) {
    client.send(request, now_monotonic_nano());
    progress(spans += request.spans);
  }
  client.drain();
}

void send_live(Exporters& exporters, LoadClient& client, const std::function<bool()>& go_on) {
  uint64_t unix_ahead = now_unix_nano() - now_monotonic_nano();
  bool live = true;
  ExportRequest request;
  while (exporters.next(request)) {
    if (live && !go_on()) {
      live = false;
      exporters.stop_beginning();
    }
    uint64_t due = request.last_end_unix_nano - unix_ahead;
    if (live) client.serve_until(due);
    client.send(request, live ? due : now_monotonic_nano());
  }
  client.drain();
}

}  // namespace fathom::bench
