// The callback and the async API; cancellation and deadlines, which they show best.
#include <future>
#include <thread>

#include "client/grpc/testing/echo_servers.h"
#include "client/grpc/testing/spans.h"

namespace fathom::grpc::testing {
namespace {

// A call whose end is waited for.
::grpc::Status say(Echo::Stub& stub, ::grpc::ClientContext& context, const Note& request, Note& reply) {
  std::promise<::grpc::Status> done;
  stub.async()->Say(&context, &request, &reply, [&done](::grpc::Status status) { done.set_value(std::move(status)); });
  return done.get_future().get();
}

TEST(CallbackCalls, TheMethodRunsUnderItsSpan) {
  CallbackEcho service;
  service.say = [](::grpc::CallbackServerContext* context, const Note*, Note*) {
    Span span("in the method");
    auto* reactor = context->DefaultReactor();
    reactor->Finish(::grpc::Status::OK);
    return reactor;
  };
  Running server(service);
  auto stub = server.traced();
  ::grpc::ClientContext context;
  Note request;
  Note reply;
  ASSERT_TRUE(say(*stub, context, request, reply).ok());
  auto spans = take_spans(3);
  EXPECT_EQ(only(spans, "in the method", kInternal).parent_span_id, only(spans, kSay, kServer).span_id);
  EXPECT_EQ(only(spans, kSay, kServer).parent_span_id, only(spans, kSay, kClient).span_id);
}

TEST(CallbackCalls, OtherThreadsAskForTheContext) {
  CallbackEcho service;
  std::thread later;
  service.say = [&later](::grpc::CallbackServerContext* context, const Note*, Note*) {
    auto* reactor = context->DefaultReactor();
    later = std::thread([context, reactor] {
      EXPECT_FALSE(Context::active());
      Span span("later", context_of(*context));
      span_of(*context).set("items", 3);
      reactor->Finish(::grpc::Status::OK);
    });
    return reactor;
  };
  Running server(service);
  auto stub = server.traced();
  ::grpc::ClientContext context;
  Note request;
  Note reply;
  ASSERT_TRUE(say(*stub, context, request, reply).ok());
  later.join();
  auto spans = take_spans(3);
  const ReadSpan& served = only(spans, kSay, kServer);
  EXPECT_EQ(only(spans, "later", kInternal).parent_span_id, served.span_id);
  EXPECT_EQ(only(spans, "later", kInternal).flags & kRemoteParent, 0);
  EXPECT_EQ(served.attribute("items"), "3");
}

TEST(CallbackCalls, FinishedElsewhereBeforeTheMethodReturns) {
  CallbackEcho service;
  service.say = [](::grpc::CallbackServerContext* context, const Note*, Note*) {
    auto* reactor = context->DefaultReactor();
    std::thread([reactor] { reactor->Finish({::grpc::StatusCode::INTERNAL, "early"}); }).join();
    Span span("still in the method");
    return reactor;
  };
  Running server(service);
  auto stub = server.traced();
  for (int i = 0; i < 50; ++i) {
    ::grpc::ClientContext context;
    Note request;
    Note reply;
    EXPECT_EQ(say(*stub, context, request, reply).error_code(), ::grpc::StatusCode::INTERNAL);
    auto spans = take_spans(3);
    const ReadSpan& served = only(spans, kSay, kServer);
    const ReadSpan& inner = only(spans, "still in the method", kInternal);
    EXPECT_EQ(inner.parent_span_id, served.span_id);
    EXPECT_LE(inner.end_ticks, served.end_ticks) << "it is not over before its method is";
    EXPECT_EQ(served.attribute("rpc.grpc.status_code"), "13");
  }
}

class Writer : public ::grpc::ServerWriteReactor<Note> {
 public:
  Writer(::grpc::CallbackServerContext* context, int count) : context_(context), left_(count) { next(); }
  void OnWriteDone(bool ok) override {
    if (ok) return next();
    Finish(::grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  void next() {
    if (left_-- == 0) return Finish(::grpc::Status::OK);
    Span span("one more", context_of(*context_));
    StartWrite(&note_);
  }
  ::grpc::CallbackServerContext* const context_;
  int left_;
  Note note_;
};

TEST(CallbackStreams, AreOneSpanAcrossTheirThreads) {
  CallbackEcho service;
  service.repeat = [](::grpc::CallbackServerContext* context, const Note* request) {
    return new Writer(context, request->number());
  };
  Running server(service);
  auto stub = server.traced();
  {
    ::grpc::ClientContext context;
    auto reader = stub->Repeat(&context, note("", 5));
    Note reply;
    int count = 0;
    while (reader->Read(&reply)) ++count;
    EXPECT_EQ(count, 5);
    EXPECT_TRUE(reader->Finish().ok());
  }
  auto spans = take_spans(7);
  const ReadSpan& served = only(spans, "echo.Echo/Repeat", kServer);
  for (const ReadSpan& span : spans) {
    if (span.name == "one more") {
      EXPECT_EQ(span.parent_span_id, served.span_id);
    }
  }
}

TEST(CallbackClients, AnExplicitParentWins) {
  SyncEcho service;
  Running server(service);
  auto stub = server.traced();
  DetachedSpan parent("batch");
  {
    Span other("active meanwhile");
    ::grpc::ClientContext context;
    set_parent(context, parent.context());
    Note reply;
    ASSERT_TRUE(say(*stub, context, note(""), reply).ok());
  }
  parent.end();
  auto spans = take_spans(4);
  const ReadSpan& client = only(spans, kSay, kClient);
  EXPECT_EQ(client.parent_span_id, only(spans, "batch", kInternal).span_id);
  EXPECT_EQ(client.flags & kRemoteParent, 0);
  EXPECT_EQ(client.attribute("rpc.method"), "Say");
  EXPECT_EQ(only(spans, kSay, kServer).parent_span_id, client.span_id);
}

TEST(CallbackClients, TheSpanHasEndedWhenTheCallbackRuns) {
  SyncEcho service;
  Running server(service);
  auto stub = server.traced();
  ::grpc::ClientContext context;
  Note request;
  Note reply;
  std::promise<size_t> ended;
  stub->async()->Say(&context, &request, &reply, [&ended](const ::grpc::Status&) {
    auto spans = take_spans(2);
    ended.set_value(spans.size());
  });
  EXPECT_EQ(ended.get_future().get(), 2u);
}

TEST(Cancellation, OfACallbackCall) {
  CallbackEcho service;
  std::promise<void> arrived;
  class Waiting : public ::grpc::ServerUnaryReactor {
    void OnCancel() override { Finish(::grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }
  };
  service.say = [&arrived](::grpc::CallbackServerContext*, const Note*, Note*) {
    auto* reactor = new Waiting;
    arrived.set_value();
    return reactor;
  };
  Running server(service);
  auto stub = server.traced();
  ::grpc::ClientContext context;
  Note request;
  Note reply;
  std::promise<::grpc::Status> done;
  stub->async()->Say(&context, &request, &reply, [&done](::grpc::Status status) { done.set_value(std::move(status)); });
  arrived.get_future().wait();
  context.TryCancel();
  EXPECT_EQ(done.get_future().get().error_code(), ::grpc::StatusCode::CANCELLED);
  auto spans = take_spans(2);
  EXPECT_EQ(only(spans, kSay, kClient).attribute("rpc.grpc.status_code"), "1");
  const ReadSpan& served = only(spans, kSay, kServer);
  EXPECT_EQ(served.attribute("rpc.grpc.status_code"), "1");
  EXPECT_EQ(served.status, 0) << "it is not the server's fault";
  const auto* reason = served.find(pool::ItemTag::kDetail, "reason");
  ASSERT_NE(reason, nullptr);
  EXPECT_EQ(reason->value, "cancelled by the client");
}

TEST(Cancellation, ByADeadlineWhileASyncHandlerWorks) {
  SyncEcho service;
  service.say = [](::grpc::ServerContext& context, const Note&, Note&) {
    while (!context.IsCancelled()) std::this_thread::yield();
    return ::grpc::Status::OK;
  };
  Running server(service);
  auto stub = server.traced();
  ::grpc::ClientContext context;
  // Long enough for a busy machine to connect and to begin the handler.
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  Note reply;
  EXPECT_EQ(stub->Say(&context, note(""), &reply).error_code(), ::grpc::StatusCode::DEADLINE_EXCEEDED);
  auto spans = take_spans(2);
  const ReadSpan& client = only(spans, kSay, kClient);
  EXPECT_EQ(client.attribute("rpc.grpc.status_code"), "4");
  EXPECT_EQ(client.status, kError);
  const ReadSpan& served = only(spans, kSay, kServer);
  EXPECT_EQ(served.attribute("rpc.grpc.status_code"), "4") << "nobody heard that the handler said OK";
  EXPECT_EQ(served.status, kError);
  EXPECT_EQ(served.find(pool::ItemTag::kStatusMessage, "")->value, "deadline exceeded before the answer");
  EXPECT_EQ(served.find(pool::ItemTag::kDetail, "reason")->value, "deadline exceeded");
}

// The server's span of a call that its client cancels, and whose handler then says `status`.
ReadSpan cancelled_call(const ::grpc::Status& status) {
  SyncEcho service;
  std::promise<void> arrived;
  service.say = [&](::grpc::ServerContext& context, const Note&, Note&) {
    arrived.set_value();
    while (!context.IsCancelled()) std::this_thread::yield();
    return status;
  };
  Running server(service);
  auto stub = server.traced();
  ::grpc::ClientContext context;
  std::thread canceller([&] {
    arrived.get_future().wait();
    context.TryCancel();
  });
  Note reply;
  EXPECT_EQ(stub->Say(&context, note(""), &reply).error_code(), ::grpc::StatusCode::CANCELLED);
  canceller.join();
  return only(take_spans(2), kSay, kServer);
}

TEST(Cancellation, HasTheCallersCodeUnlessTheServerFailed) {
  ReadSpan served = cancelled_call(::grpc::Status::OK);
  EXPECT_EQ(served.attribute("rpc.grpc.status_code"), "1");
  EXPECT_EQ(served.status, 0);
  served = cancelled_call({::grpc::StatusCode::NOT_FOUND, "no such note"});
  EXPECT_EQ(served.attribute("rpc.grpc.status_code"), "1");
  EXPECT_EQ(served.status, 0);
  served = cancelled_call({::grpc::StatusCode::INTERNAL, "out of paper"});
  EXPECT_EQ(served.attribute("rpc.grpc.status_code"), "13");
  EXPECT_EQ(served.status, kError);
  EXPECT_EQ(served.find(pool::ItemTag::kStatusMessage, "")->value, "out of paper");
  EXPECT_EQ(served.find(pool::ItemTag::kDetail, "reason")->value, "cancelled by the client");
}

// A server of the async API: its calls come out of a queue.
class AsyncServer {
 public:
  AsyncServer() {
    ::grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", ::grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service_);
    queue_ = builder.AddCompletionQueue();
    trace_server(builder);
    server_ = builder.BuildAndStart();
    service_.RequestSay(&context_, &request_, &responder_, queue_.get(), queue_.get(), this);
  }
  ~AsyncServer() {
    server_->Shutdown(std::chrono::system_clock::now());
    queue_->Shutdown();
    void* tag;
    bool ok;
    while (queue_->Next(&tag, &ok)) {
    }
  }
  std::unique_ptr<Echo::Stub> stub() const {
    return Echo::NewStub(traced_channel("127.0.0.1:" + std::to_string(port_), ::grpc::InsecureChannelCredentials()));
  }
  bool next() {
    void* tag;
    bool ok = false;
    return queue_->Next(&tag, &ok) && ok;
  }
  ::grpc::ServerContext& context() { return context_; }
  void finish() {
    responder_.Finish(request_, ::grpc::Status::OK, this);
    next();
  }

 private:
  int port_ = 0;
  Echo::AsyncService service_;
  ::grpc::ServerContext context_;
  Note request_;
  ::grpc::ServerAsyncResponseWriter<Note> responder_{&context_};
  std::unique_ptr<::grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<::grpc::Server> server_;
};

TEST(AsyncCalls, AskForTheContext) {
  AsyncServer server;
  auto stub = server.stub();
  ::grpc::ClientContext context;
  Note request;
  Note reply;
  std::promise<::grpc::Status> done;
  stub->async()->Say(&context, &request, &reply, [&done](::grpc::Status status) { done.set_value(std::move(status)); });
  ASSERT_TRUE(server.next());
  EXPECT_FALSE(Context::active()) << "whoever waits for the queue is not in a handler";
  { Span span("handling", context_of(server.context())); }
  server.finish();
  EXPECT_TRUE(done.get_future().get().ok());
  auto spans = take_spans(3);
  EXPECT_EQ(only(spans, "handling", kInternal).parent_span_id, only(spans, kSay, kServer).span_id);
  EXPECT_EQ(only(spans, kSay, kServer).parent_span_id, only(spans, kSay, kClient).span_id);
}

TEST(AsyncCalls, OneThatIsNeverAnsweredEndsWithItsContext) {
  auto server = std::make_unique<AsyncServer>();
  auto stub = server->stub();
  ::grpc::ClientContext context;
  Note request;
  Note reply;
  std::promise<::grpc::Status> done;
  stub->async()->Say(&context, &request, &reply, [&done](::grpc::Status status) { done.set_value(std::move(status)); });
  ASSERT_TRUE(server->next());
  context.TryCancel();
  EXPECT_EQ(done.get_future().get().error_code(), ::grpc::StatusCode::CANCELLED);
  server.reset();
  auto spans = take_spans(2);
  const ReadSpan& served = only(spans, kSay, kServer);
  EXPECT_EQ(served.attribute("rpc.grpc.status_code"), "1");
  EXPECT_EQ(served.find(pool::ItemTag::kStatusMessage, "")->value, "given up without a status");
}

TEST(Targets, AreTakenApart) {
  for (auto [text, host, port] : {std::tuple("127.0.0.1:7001", "127.0.0.1", "7001"),
                                  {"dns:///catalog:7001", "catalog", "7001"},
                                  {"[::1]:7001", "[::1]", "7001"},
                                  {"catalog", "catalog", "?"},
                                  {"unix:/run/catalog.sock", "unix:/run/catalog.sock", "?"},
                                  {"h:99999999", "h:99999999", "?"},
                                  {"h:", "h:", "?"},
                                  {"", "?", "?"}}) {
    DetachedSpan span("call");
    internal::Target(text).describe(span);
    span.end();
    auto spans = take_spans(1);
    EXPECT_EQ(spans[0].attribute("server.address"), host);
    EXPECT_EQ(spans[0].attribute("server.port"), port) << text;
  }
}

}  // namespace
}  // namespace fathom::grpc::testing
