#include "query/grpc_face.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/time.h"
#include "net/grpc_door.h"
#include "net/grpc_limits.h"
#include "net/http_server.h"
#include "query.grpc.pb.h"
#include "query/attribute_values.h"
#include "query/counters.h"
#include "query/lost_batches.h"
#include "query/proto_convert.h"

namespace fathom::query {

namespace {

constexpr uint64_t kMaxRequestBytes = 64 * 1024;
constexpr uint64_t kBufferBytes = 64ull << 20;  // of all messages under way; a thousand idle connections take a third
constexpr uint64_t kSmallAnswerBytes = 64 * 1024;  // always given, as over HTTP
constexpr std::string_view kServiceName = "fathom.query.v1.QueryService";

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

// Our own reading of the bytes, because gRPC answers what it cannot parse with UNIMPLEMENTED and no word.
template <typename Message>
Result<> parse(const grpc::ByteBuffer& bytes, Message& message) {
  // gRPC calls with no message when the stream ended within one; nobody waits for this answer.
  if (!bytes.Valid()) return invalid("the message is incomplete");
  if (uint64_t size = bytes.Length(); size > kMaxRequestBytes) {
    return exhausted("the message has " + std::to_string(size) + " bytes; the limit is " +
                     std::to_string(kMaxRequestBytes));
  }
  grpc::ByteBuffer copy(bytes);  // parsing consumes it; the bytes are shared
  if (grpc::SerializationTraits<Message>::Deserialize(&copy, &message).ok()) return {};
  return invalid("not a " + message.GetTypeName() + " of proto/query.proto; compressed messages are not taken");
}

// One call: gRPC deletes it by OnDone, after Finish.
class Call : public grpc::ServerUnaryReactor {
 public:
  Call(std::shared_ptr<store::QueryBudget> budget, Reservation memory)
      : budget_(std::move(budget)), memory_(std::move(memory)) {}
  void OnCancel() override { budget_->cancel(); }
  void OnDone() override { delete this; }

  // The answer's bytes, whose memory is taken until gRPC has sent them.
  Result<> reply(const google::protobuf::Message& message, uint64_t most_bytes, grpc::ByteBuffer& out) {
    uint64_t bytes = message.ByteSizeLong();
    if (Result<> paid = budget_->spend(bytes); !paid) return paid;
    if (bytes > most_bytes) return exhausted("the answer has " + std::to_string(bytes) + " bytes; ask for less");
    if (bytes > kSmallAnswerBytes && !memory_.grow(bytes)) {
      return unavailable("too many large answers wait to be read; try again");
    }
    bool own = false;
    grpc::Status written =
        grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::Message>(message, &out, &own);
    return written.ok() ? Result<>() : internal("the answer cannot be written: " + written.error_message());
  }

 private:
  const std::shared_ptr<store::QueryBudget> budget_;
  Reservation memory_;
};

// Every method with its bytes as they are.
template <typename Base>
using RawLists = v1::QueryService::WithRawCallbackMethod_ListServices<
    v1::QueryService::WithRawCallbackMethod_ListOperations<v1::QueryService::WithRawCallbackMethod_ListAttributeKeys<
        v1::QueryService::WithRawCallbackMethod_ListAttributeValues<Base>>>>;
template <typename Base>
using RawCaptures = v1::QueryService::WithRawCallbackMethod_ListCaptures<
    v1::QueryService::WithRawCallbackMethod_GetCapture<v1::QueryService::WithRawCallbackMethod_GetTimeline<Base>>>;
using RawService = v1::QueryService::WithRawCallbackMethod_Slowest<v1::QueryService::WithRawCallbackMethod_GetTrace<
    v1::QueryService::WithRawCallbackMethod_Latency<RawLists<RawCaptures<v1::QueryService::Service>>>>>;

class Service : public RawService {
 public:
  Service(const net::GrpcDoor& door, std::shared_ptr<net::AuditLog> audit, const Stores& stores, QueryRunner& runner,
          ByteBudget& answers)
      : door_(door), audit_(std::move(audit)), stores_(stores), runner_(runner), answers_(answers) {}

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  using Bytes = grpc::ByteBuffer;
  using Budget = store::QueryBudget;

  Reactor* Slowest(Context* context, const Bytes* in, Bytes* out) override {
    return serve<v1::SlowestRequest, v1::SlowestResponse>(
        context, "slowest", *in, out, [this](const auto& asked, auto& answer, Budget& budget) -> Result<> {
          auto query = query_of(asked, now_unix_nano());
          if (!query) return query.error();
          const store::TimeRange range = query->filter.range;
          return marked(answer, range, run_slowest(stores_, *std::move(query), budget));
        });
  }
  Reactor* GetTrace(Context* context, const Bytes* in, Bytes* out) override {
    return serve<v1::TraceRequest, v1::TraceResponse>(
        context, "trace", *in, out, [this](const auto& asked, auto& answer, Budget& budget) -> Result<> {
          auto id = trace_id_of(asked);
          if (!id) return id.error();
          auto page = page_of(asked);
          if (!page) return page.error();
          auto document = run_trace(stores_, *id, budget, *std::move(page), answers_.limit() / 2);
          if (!document) return document.error();
          answer.set_json(*std::move(document));
          return {};
        });
  }
  Reactor* ListServices(Context* context, const Bytes* in, Bytes* out) override {
    return serve_ranged<v1::ServicesRequest, v1::ServicesResponse>(
        context, "services", *in, out, [this](const auto&, const store::TimeRange& range, Budget& budget) {
          return run_services(stores_.spans, range, now_unix_nano(), budget);
        });
  }
  Reactor* ListOperations(Context* context, const Bytes* in, Bytes* out) override {
    return serve_ranged<v1::OperationsRequest, v1::OperationsResponse>(
        context, "operations", *in, out, [this](const auto& asked, const store::TimeRange& range, Budget& budget) {
          return run_operations(stores_.spans, range, text_of(asked.service()), now_unix_nano(), budget);
        });
  }
  Reactor* ListAttributeKeys(Context* context, const Bytes* in, Bytes* out) override {
    return serve_ranged<v1::AttributeKeysRequest, v1::AttributeKeysResponse>(
        context, "attribute_keys", *in, out, [this](const auto&, const store::TimeRange& range, Budget& budget) {
          return stores_.spans.attribute_keys(range, budget);
        });
  }
  Reactor* ListAttributeValues(Context* context, const Bytes* in, Bytes* out) override {
    return serve_ranged<v1::AttributeValuesRequest, v1::AttributeValuesResponse>(
        context, "attribute_values", *in, out,
        [this](const auto& asked, const store::TimeRange& range, Budget& budget) {
          return values(asked, range, budget);
        });
  }
  Reactor* Latency(Context* context, const Bytes* in, Bytes* out) override {
    return serve<v1::LatencyRequest, v1::LatencyResponse>(
        context, "latency", *in, out, [this](const auto& asked, auto& answer, Budget& budget) -> Result<> {
          auto query = query_of(asked, now_unix_nano());
          if (!query) return query.error();
          return marked(answer, query->range, run_latency(stores_.spans, *query, budget));
        });
  }
  Reactor* ListCaptures(Context* context, const Bytes* in, Bytes* out) override {
    return serve<v1::ListCapturesRequest, v1::ListCapturesResponse>(
        context, "captures", *in, out, [this](const auto& asked, auto& answer, Budget& budget) -> Result<> {
          auto query = query_of(asked, now_unix_nano());
          if (!query) return query.error();
          const store::TimeRange range = query->filter.range;
          auto page = run_captures(stores_, *std::move(query), budget);
          if (!page) return page.error();
          answer.set_json(to_json(*page));
          if (auto lost = lost_captures(stores_.captures, range)) fill(*answer.mutable_lost_batches(), *lost);
          return {};
        });
  }
  Reactor* GetCapture(Context* context, const Bytes* in, Bytes* out) override {
    return serve<v1::GetCaptureRequest, v1::GetCaptureResponse>(
        context, "capture", *in, out, [this](const auto& asked, auto& answer, Budget& budget) -> Result<> {
          auto id = capture_id_of(asked);
          if (!id) return id.error();
          auto document = run_capture(stores_, *id, budget);
          if (!document) return document.error();
          answer.set_json(*std::move(document));
          if (!asked.content()) return {};
          auto content = run_content(stores_, *id, budget);
          if (!content) return content.error();
          answer.set_content(*std::move(content));
          return {};
        });
  }
  Reactor* GetTimeline(Context* context, const Bytes* in, Bytes* out) override {
    return serve<v1::TimelineRequest, v1::TimelineResponse>(
        context, "timeline", *in, out, [this](const auto& asked, auto& answer, Budget& budget) -> Result<> {
          auto query = query_of(asked);
          if (!query) return query.error();
          auto timeline =
              asked.perfetto() ? run_perfetto(stores_, *query, budget) : run_timeline(stores_, *query, budget);
          if (!timeline) return timeline.error();
          (asked.perfetto() ? *answer.mutable_perfetto() : *answer.mutable_json()) = *std::move(timeline);
          return {};
        });
  }

 private:
  // The answer, marked if batches of this time are lost.
  template <typename Response, typename Answer>
  Result<> marked(Response& out, const store::TimeRange& range, const Result<Answer>& answer) {
    if (!answer) return answer.error();
    fill(out, *answer);
    if (auto lost = lost_batches(stores_.spans, range)) fill(*out.mutable_lost_batches(), *lost);
    return {};
  }

  Result<ValuesAnswer> values(const v1::AttributeValuesRequest& in, const store::TimeRange& range, Budget& budget) {
    if (in.key().empty()) return invalid("key must name an attribute");
    if (in.limit() > kMaxValues) return invalid("limit may be at most " + std::to_string(kMaxValues));
    ValuesQuery query{range, in.key(), std::nullopt, in.prefix(), in.limit() == 0 ? kDefaultValues : in.limit()};
    if (!in.service().empty()) query.service = in.service();
    return run_values(stores_.spans, query, budget);
  }

  template <typename Request, typename Response, typename Ask>
  Reactor* serve_ranged(Context* context, std::string_view name, const Bytes& in, Bytes* out, Ask ask) {
    return serve<Request, Response>(context, name, in, out,
                                    [this, ask](const Request& asked, Response& answer, Budget& budget) -> Result<> {
                                      auto range = range_of(asked.range(), now_unix_nano());
                                      if (!range) return range.error();
                                      return marked(answer, range->range, ask(asked, range->range, budget));
                                    });
  }

  // `out` lives until the call is finished, which is what `done` does.
  template <typename Request, typename Response, typename Work>
  Reactor* serve(Context* context, std::string_view name, const Bytes& in, Bytes* out, Work work) {
    const net::Admission admission = door_.admit(*context);
    if (auto refusal = net::GrpcDoor::status_of(admission)) return refuse(context, *refusal);
    if (audit_)
      audit_->note({.token_name = admission.token_name,
                    .peer = door_.peer_of(*context),
                    .request = "gRPC " + std::string(name)});
    auto asked = std::make_shared<Request>();
    if (Result<> parsed = parse(in, *asked); !parsed) return refuse(context, parsed);
    auto budget = runner_.make_budget(timeout_of(*context));
    auto* call = new Call(budget, answers_.open());
    auto answer = [this, asked, call, out, work](Budget& running) -> Result<> {
      Response response;
      Result<> worked = work(*asked, response, running);
      return worked ? call->reply(response, answers_.limit(), *out) : worked;
    };
    runner_.run({.name = name, .budget = budget, .work = answer, .done = [call](const Result<>& result) {
                   call->Finish(status_of(result));
                 }});
    return call;
  }

  static Reactor* refuse(Context* context, const Result<>& why) {
    count_refused(error_code_name(why.error().code));
    return refuse(context, status_of(why));
  }
  static Reactor* refuse(Context* context, const grpc::Status& status) {
    Reactor* reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }

  const net::GrpcDoor& door_;
  const std::shared_ptr<net::AuditLog> audit_;  // null: none
  const Stores stores_;
  QueryRunner& runner_;
  ByteBudget& answers_;
};

grpc::Status refuse_unknown(const std::string& method) {
  count_refused(error_code_name(ErrorCode::kNotFound));
  return {grpc::StatusCode::UNIMPLEMENTED,
          "there is no " + method + " here; questions are asked of " + std::string(kServiceName)};
}

}  // namespace

struct GrpcFace::Impl {
  Impl(const QueryOptions& given, const Stores& stores, QueryRunner& runner, ByteBudget& answers)
      : options(given),
        door("query-grpc", options.grpc_address, net::Scope::kQuery, options.security),
        service(door, options.audit, stores, runner, answers) {}

  const QueryOptions& options;
  net::GrpcDoor door;
  Service service;
  net::UnknownCalls unknown{[this](const grpc::ServerContextBase& call, const std::string& method) {
    auto refusal = door.refusal(call);
    return refusal ? *refusal : refuse_unknown(method);
  }};
  std::unique_ptr<grpc::Server> server;
};

GrpcFace::GrpcFace(const QueryOptions& options, const Stores& stores, QueryRunner& runner, ByteBudget& answers)
    : impl_(std::make_unique<Impl>(options, stores, runner, answers)) {}

GrpcFace::~GrpcFace() {
  stop(0);
}

Result<std::string> GrpcFace::start() {
  const QueryOptions& options = impl_->options;
  const std::string& address = options.grpc_address;
  auto parts = net::split_address(address);
  if (!parts) return parts.error();
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  net::bound(builder, {.name = "query",
                       .buffer_bytes = kBufferBytes,
                       .connection_age_nano = options.grpc_connection_age_nano,
                       .connection_grace_nano = options.max_deadline_nano});
  impl_->door.add_to(builder);
  builder.RegisterService(&impl_->service);
  builder.RegisterCallbackGenericService(&impl_->unknown);
  impl_->server = builder.BuildAndStart();
  Result<std::string> bound = impl_->door.open(impl_->server.get());
  if (!bound) {
    impl_->server.reset();
    return bound;
  }
  log_info("listening listener=query-grpc address=" + *bound);
  return bound;
}

void GrpcFace::stop(uint64_t grace_nano) {
  if (!impl_->server) return;
  impl_->door.close();
  impl_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::nanoseconds(grace_nano));
  impl_->door.end();
  impl_->server.reset();
}

}  // namespace fathom::query
