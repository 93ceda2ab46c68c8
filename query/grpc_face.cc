#include "query/grpc_face.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/time.h"
#include "net/http_server.h"
#include "query.grpc.pb.h"
#include "query/proto_convert.h"

namespace fathom::query {

namespace {

constexpr int kMaxRequestBytes = 64 * 1024;

grpc::StatusCode grpc_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case ErrorCode::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case ErrorCode::kUnavailable:
      return grpc::StatusCode::UNAVAILABLE;
    case ErrorCode::kExhausted:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case ErrorCode::kDeadline:
      return grpc::StatusCode::DEADLINE_EXCEEDED;
    case ErrorCode::kCancelled:
      return grpc::StatusCode::CANCELLED;
    case ErrorCode::kCorrupt:
      return grpc::StatusCode::DATA_LOSS;
    case ErrorCode::kUnsupported:
      return grpc::StatusCode::UNIMPLEMENTED;
    case ErrorCode::kInternal:
      return grpc::StatusCode::INTERNAL;
  }
  return grpc::StatusCode::INTERNAL;
}

grpc::Status status_of(const Result<>& result) {
  if (result) return grpc::Status::OK;
  return {grpc_code(result.error().code), result.error().message};
}

// What is left of the client's own deadline; 0 when it named none.
uint64_t timeout_of(const grpc::CallbackServerContext& context) {
  auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return 0;
  auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - std::chrono::system_clock::now()).count();
  return static_cast<uint64_t>(std::max<int64_t>(left, 1));
}

// One call: gRPC deletes it by OnDone, after Finish.
class Call : public grpc::ServerUnaryReactor {
 public:
  explicit Call(std::shared_ptr<store::QueryBudget> budget) : budget_(std::move(budget)) {}
  void OnCancel() override { budget_->cancel(); }
  void OnDone() override { delete this; }

 private:
  const std::shared_ptr<store::QueryBudget> budget_;
};

class Service : public v1::QueryService::CallbackService {
 public:
  Service(store::SpanStore& store, QueryRunner& runner) : store_(store), runner_(runner) {}

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  using Budget = store::QueryBudget;

  Reactor* Slowest(Context* context, const v1::SlowestRequest* in, v1::SlowestResponse* out) override {
    return start(context, "slowest", [this, in, out](Budget& budget) -> Result<> {
      auto query = query_of(*in, now_unix_nano());
      if (!query) return query.error();
      return filled(out, run_slowest(store_, *std::move(query), budget));
    });
  }
  Reactor* GetTrace(Context* context, const v1::TraceRequest* in, v1::TraceResponse* out) override {
    return start(context, "trace", [this, in, out](Budget& budget) -> Result<> {
      auto id = trace_id_of(*in);
      if (!id) return id.error();
      auto document = run_trace(store_, *id, budget);
      if (!document) return document.error();
      out->set_json(*std::move(document));
      return {};
    });
  }
  Reactor* ListServices(Context* context, const v1::ServicesRequest* in, v1::ServicesResponse* out) override {
    return start_ranged(context, "services", in, out, [this](const store::TimeRange& range, Budget& budget) {
      return run_services(store_, range, budget);
    });
  }
  Reactor* ListOperations(Context* context, const v1::OperationsRequest* in, v1::OperationsResponse* out) override {
    return start_ranged(context, "operations", in, out, [this, in](const store::TimeRange& range, Budget& budget) {
      return run_operations(store_, range, text_of(in->service()), budget);
    });
  }
  Reactor* ListAttributeKeys(Context* context, const v1::AttributeKeysRequest* in,
                             v1::AttributeKeysResponse* out) override {
    return start_ranged(context, "attribute_keys", in, out, [this](const store::TimeRange& range, Budget& budget) {
      return store_.attribute_keys(range, budget);
    });
  }
  Reactor* ListAttributeValues(Context* context, const v1::AttributeValuesRequest* in,
                               v1::AttributeValuesResponse* out) override {
    return start_ranged(
        context, "attribute_values", in, out,
        [this, in](const store::TimeRange& range, Budget& budget) { return values(*in, range, budget); });
  }
  Reactor* Latency(Context* context, const v1::LatencyRequest* in, v1::LatencyResponse* out) override {
    return start(context, "latency", [this, in, out](Budget& budget) -> Result<> {
      auto query = query_of(*in, now_unix_nano());
      if (!query) return query.error();
      return filled(out, run_latency(store_, *query, budget));
    });
  }

 private:
  template <typename Response, typename Answer>
  static Result<> filled(Response* out, const Result<Answer>& answer) {
    if (!answer) return answer.error();
    fill(*out, *answer);
    return {};
  }

  Result<std::vector<store::ValueCount>> values(const v1::AttributeValuesRequest& in, const store::TimeRange& range,
                                                Budget& budget) {
    if (in.key().empty()) return invalid("key must name an attribute");
    if (in.limit() > kMaxValues) return invalid("limit may be at most " + std::to_string(kMaxValues));
    return store_.attribute_values(range, in.key(), in.limit() == 0 ? kDefaultValues : in.limit(), budget);
  }

  template <typename Request, typename Response, typename Ask>
  Reactor* start_ranged(Context* context, std::string_view name, const Request* in, Response* out, Ask ask) {
    return start(context, name, [in, out, ask](Budget& budget) -> Result<> {
      auto asked = range_of(in->range(), now_unix_nano());
      if (!asked) return asked.error();
      return filled(out, ask(asked->range, budget));
    });
  }

  // Request and response live until the call is finished, which is what `done` does.
  Reactor* start(Context* context, std::string_view name, std::function<Result<>(Budget&)> work) {
    auto budget = runner_.make_budget(timeout_of(*context));
    auto* call = new Call(budget);
    runner_.run({.name = name, .budget = budget, .work = std::move(work), .done = [call](const Result<>& result) {
                   call->Finish(status_of(result));
                 }});
    return call;
  }

  store::SpanStore& store_;
  QueryRunner& runner_;
};

}  // namespace

struct GrpcFace::Impl {
  Service service;
  std::unique_ptr<grpc::Server> server;
};

GrpcFace::GrpcFace(store::SpanStore& store, QueryRunner& runner) : impl_(new Impl{.service = {store, runner}}) {}

GrpcFace::~GrpcFace() {
  stop(0);
}

Result<std::string> GrpcFace::start(const std::string& address) {
  auto parts = net::split_address(address);
  if (!parts) return parts.error();
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  int port = 0;
  // Without this a second server shares the port instead of failing.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&impl_->service);
  impl_->server = builder.BuildAndStart();
  if (!impl_->server || port == 0) {
    impl_->server.reset();
    return unavailable("cannot listen on " + address + "; another program may have this port: choose another");
  }
  std::string bound = address.substr(0, address.rfind(':') + 1) + std::to_string(port);
  log_info("listening listener=query-grpc address=" + bound);
  return bound;
}

void GrpcFace::stop(uint64_t grace_nano) {
  if (!impl_->server) return;
  impl_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::nanoseconds(grace_nano));
  impl_->server.reset();
}

}  // namespace fathom::query
