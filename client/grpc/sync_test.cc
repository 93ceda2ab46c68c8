// The sync API on both sides.
#include <thread>

#include "client/grpc/testing/echo_servers.h"
#include "client/grpc/testing/spans.h"

namespace fathom::grpc::testing {
namespace {

constexpr const char* kParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr const char* kStranger = "00-11111111111111111111111111111111-2222222222222222-01";

TEST(SyncCalls, BothSidesAreSpansOfOneTrace) {
  SyncEcho service;
  Running server(service);
  auto stub = server.traced();
  Note reply;
  {
    Span span("asking");
    ::grpc::ClientContext context;
    ASSERT_TRUE(stub->Say(&context, note("hello"), &reply).ok());
  }
  EXPECT_EQ(reply.text(), "hello");
  auto spans = take_spans(3);
  const ReadSpan& asking = only(spans, "asking", kInternal);
  const ReadSpan& client = only(spans, kSay, kClient);
  const ReadSpan& served = only(spans, kSay, kServer);
  EXPECT_EQ(asking.parent_span_id, "");
  EXPECT_EQ(client.parent_span_id, asking.span_id);
  EXPECT_EQ(served.parent_span_id, client.span_id);
  EXPECT_EQ(client.trace_id, asking.trace_id);
  EXPECT_EQ(served.trace_id, asking.trace_id);
  EXPECT_EQ(client.flags & kRemoteParent, 0);
  EXPECT_NE(served.flags & kRemoteParent, 0);
  EXPECT_LE(client.start_ticks, served.start_ticks);
  EXPECT_LE(served.start_ticks, client.end_ticks);
}

TEST(SyncCalls, SayWhatTheyAre) {
  SyncEcho service;
  Running server(service);
  ::grpc::ClientContext context;
  Note reply;
  ASSERT_TRUE(server.traced()->Say(&context, note("hello"), &reply).ok());
  auto spans = take_spans(2);
  for (uint8_t kind : {kClient, kServer}) {
    const ReadSpan& span = only(spans, kSay, kind);
    EXPECT_EQ(span.attribute("rpc.system"), "grpc");
    EXPECT_EQ(span.attribute("rpc.service"), "echo.Echo");
    EXPECT_EQ(span.attribute("rpc.method"), "Say");
    EXPECT_EQ(span.attribute("rpc.grpc.status_code"), "0");
    EXPECT_EQ(span.status, 0);
  }
  EXPECT_EQ(only(spans, kSay, kClient).attribute("server.address"), "127.0.0.1");
  EXPECT_EQ("127.0.0.1:" + only(spans, kSay, kClient).attribute("server.port"), server.address());
}

TEST(SyncCalls, WhatTheHandlerDoesIsBelowItsCall) {
  SyncEcho service;
  std::unique_ptr<Echo::Stub> next;
  service.say = [&next](::grpc::ServerContext& context, const Note& request, Note& reply) {
    Span span("handling");
    span_of(context).set("tenant", "acme");
    if (request.number() == 0) return ::grpc::Status::OK;
    ::grpc::ClientContext further;
    return next->Say(&further, note("", request.number() - 1), &reply);
  };
  Running server(service);
  next = server.traced();
  ::grpc::ClientContext context;
  Note reply;
  ASSERT_TRUE(server.plain()->Say(&context, note("", 1), &reply).ok());
  auto spans = take_spans(5);
  std::map<std::string, const ReadSpan*> by_id;
  for (const ReadSpan& span : spans) {
    by_id[span.span_id] = &span;
    EXPECT_EQ(span.trace_id, spans.front().trace_id);
    EXPECT_EQ(span.attribute("tenant"), span.kind == kServer ? "acme" : "?");
  }
  // From the inner handler upwards.
  const ReadSpan& client = only(spans, kSay, kClient);
  std::vector<std::string> names;
  for (const ReadSpan& span : spans) {
    if (span.name != "handling" || by_id[span.parent_span_id]->parent_span_id != client.span_id) continue;
    for (auto at = by_id.find(span.span_id); at != by_id.end(); at = by_id.find(at->second->parent_span_id)) {
      names.push_back(at->second->name + std::to_string(at->second->kind));
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"handling1", std::string(kSay) + "2", std::string(kSay) + "3", "handling1",
                                             std::string(kSay) + "2"}));
}

TEST(SyncCalls, NothingIsActiveOnceTheHandlerIsDone) {
  SyncEcho service;
  Running server(service);
  auto stub = server.plain();
  for (int i = 0; i < 20; ++i) {
    ::grpc::ClientContext context;
    Note reply;
    ASSERT_TRUE(stub->Say(&context, note(""), &reply).ok());
  }
  // Threads of the server's are used again: a span left active there would be somebody's parent.
  for (const ReadSpan& span : take_spans(20)) EXPECT_EQ(span.parent_span_id, "") << span.trace_id;
}

TEST(SyncCalls, HeadersOfOthersAreContinued) {
  SyncEcho service;
  Running server(service);
  ::grpc::ClientContext context;
  context.AddMetadata("traceparent", kParent);
  context.AddMetadata("tracestate", "a=1");
  context.AddMetadata("tracestate", "b=2");
  std::string seen;
  service.say = [&seen](::grpc::ServerContext& served, const Note&, Note&) {
    seen = context_of(served)->tracestate();
    return ::grpc::Status::OK;
  };
  Note reply;
  ASSERT_TRUE(server.plain()->Say(&context, note(""), &reply).ok());
  auto spans = take_spans(1);
  EXPECT_EQ(spans[0].trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(spans[0].parent_span_id, "00f067aa0ba902b7");
  EXPECT_NE(seen.find("a=1,b=2"), std::string::npos) << seen;
}

TEST(SyncCalls, HeadersThatAreNoneBeginATrace) {
  SyncEcho service;
  Running server(service);
  auto stub = server.plain();
  for (const char* wrong : {"", "nonsense", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}) {
    ::grpc::ClientContext context;
    context.AddMetadata("traceparent", wrong);
    Note reply;
    ASSERT_TRUE(stub->Say(&context, note(""), &reply).ok());
    EXPECT_EQ(take_spans(1)[0].parent_span_id, "") << wrong;
  }
  ::grpc::ClientContext two;
  for (int i = 0; i < 2; ++i) two.AddMetadata("traceparent", kParent);
  Note reply;
  ASSERT_TRUE(stub->Say(&two, note(""), &reply).ok());
  EXPECT_EQ(take_spans(1)[0].parent_span_id, "") << "two are none";
}

// A proxy that passes its caller's metadata on, as it came.
TEST(SyncCalls, MetadataThatIsPassedOnDoesNotMoveACall) {
  SyncEcho service;
  std::unique_ptr<Echo::Stub> next;
  std::optional<Context> named;
  std::multimap<std::string, std::string> received;
  service.say = [&](::grpc::ServerContext& served, const Note& request, Note& reply) {
    if (request.number() == 0) {
      for (const auto& [key, value] : served.client_metadata())
        received.emplace(std::string(key.data(), key.size()), std::string(value.data(), value.size()));
      return ::grpc::Status::OK;
    }
    ::grpc::ClientContext further;
    for (const auto& [key, value] : served.client_metadata()) {
      const std::string name(key.data(), key.size());
      if (name.rfind("trace", 0) == 0 || name.rfind("fathom", 0) == 0)
        further.AddMetadata(name, std::string(value.data(), value.size()));
    }
    if (named) set_parent(further, *named);
    return next->Say(&further, note("", request.number() - 1), &reply);
  };
  Running server(service);
  next = server.traced();
  for (bool by_name : {false, true}) {
    DetachedSpan other("other");
    if (by_name) named = other.context();
    received.clear();
    ::grpc::ClientContext context;
    context.AddMetadata("traceparent", kParent);
    context.AddMetadata("tracestate", "a=1");
    context.AddMetadata("fathom-parent", kStranger);  // what set_parent() says within a program; from outside, nothing
    context.AddMetadata("fathom-parent-state", "s=1");
    Note reply;
    ASSERT_TRUE(server.plain()->Say(&context, note("", 1), &reply).ok());
    other.end();
    auto spans = take_spans(4);
    const ReadSpan& client = only(spans, kSay, kClient);
    const std::string span_above = only(spans, "other", kInternal).span_id;
    bool below_the_proxy = false;
    for (const ReadSpan& span : spans) below_the_proxy |= span.kind == kServer && span.span_id == client.parent_span_id;
    EXPECT_EQ(below_the_proxy, !by_name);
    EXPECT_EQ(client.parent_span_id == span_above, by_name);
    EXPECT_EQ(received.count("traceparent"), 1U);
    EXPECT_EQ(received.find("traceparent")->second.substr(36, 16), client.span_id);
    EXPECT_EQ(received.count("fathom-span"), 1U) << "the server's own";
    EXPECT_EQ(received.count("fathom-parent") + received.count("fathom-parent-state"), 0U);
  }
}

TEST(SyncCalls, StatesTravelOn) {
  SyncEcho service;
  std::string seen;
  service.say = [&seen](::grpc::ServerContext& served, const Note&, Note&) {
    seen = context_of(served)->tracestate();
    return ::grpc::Status::OK;
  };
  Running server(service);
  auto stub = server.traced();
  Note reply;
  {
    Span span("between", Context::extract(kParent, "a=1"), Kind::kServer);
    ::grpc::ClientContext context;
    ASSERT_TRUE(stub->Say(&context, note(""), &reply).ok());
  }
  take_spans(3);
  EXPECT_NE(seen.find("a=1"), std::string::npos) << seen;
}

TEST(SyncCalls, FaultsAreTheServersOrTheCallers) {
  SyncEcho service;
  service.say = [](::grpc::ServerContext&, const Note& request, Note&) {
    return ::grpc::Status(static_cast<::grpc::StatusCode>(request.number()), "why");
  };
  Running server(service);
  auto stub = server.traced();
  for (auto [code, server_error] : {std::pair(::grpc::StatusCode::INTERNAL, true),
                                    {::grpc::StatusCode::UNAVAILABLE, true},
                                    {::grpc::StatusCode::NOT_FOUND, false},
                                    {::grpc::StatusCode::RESOURCE_EXHAUSTED, false}}) {
    ::grpc::ClientContext context;
    Note reply;
    EXPECT_EQ(stub->Say(&context, note("", code), &reply).error_code(), code);
    auto spans = take_spans(2);
    const ReadSpan& client = only(spans, kSay, kClient);
    const ReadSpan& served = only(spans, kSay, kServer);
    EXPECT_EQ(client.attribute("rpc.grpc.status_code"), std::to_string(code));
    EXPECT_EQ(served.attribute("rpc.grpc.status_code"), std::to_string(code));
    EXPECT_EQ(client.status, kError);
    EXPECT_EQ(served.status, server_error ? kError : 0) << code;
    const auto* message = client.find(pool::ItemTag::kStatusMessage, "");
    ASSERT_NE(message, nullptr);
    EXPECT_EQ(message->value, "why");
  }
}

TEST(SyncCalls, AnExceptionEndsTheSpanToo) {
  SyncEcho service;
  service.say = [](::grpc::ServerContext&, const Note&, Note&) -> ::grpc::Status { throw std::runtime_error("oh"); };
  Running server(service);
  ::grpc::ClientContext context;
  Note reply;
  EXPECT_EQ(server.traced()->Say(&context, note(""), &reply).error_code(), ::grpc::StatusCode::UNKNOWN);
  auto spans = take_spans(2);
  EXPECT_EQ(only(spans, kSay, kServer).attribute("rpc.grpc.status_code"), "2");
  EXPECT_EQ(only(spans, kSay, kServer).status, kError);
}

TEST(SyncCalls, NobodyThere) {
  ::grpc::ClientContext context;
  Note reply;
  auto stub = Echo::NewStub(traced_channel("127.0.0.1:1", ::grpc::InsecureChannelCredentials()));
  EXPECT_EQ(stub->Say(&context, note(""), &reply).error_code(), ::grpc::StatusCode::UNAVAILABLE);
  auto spans = take_spans(1);
  EXPECT_EQ(spans[0].attribute("rpc.grpc.status_code"), "14");
  EXPECT_EQ(spans[0].status, kError);
}

TEST(SyncCalls, AnUntracedServerHasNoSpans) {
  SyncEcho service;
  std::optional<Context> seen;
  service.say = [&seen](::grpc::ServerContext& context, const Note&, Note&) {
    span_of(context).set("ignored", true).event("ignored");
    seen = context_of(context);
    return ::grpc::Status::OK;
  };
  Running server(service, false);
  ::grpc::ClientContext context;
  context.AddMetadata("fathom-span", kParent);  // the name under which a traced one would find it
  Note reply;
  ASSERT_TRUE(server.plain()->Say(&context, note(""), &reply).ok());
  EXPECT_FALSE(seen);
  ::grpc::ClientContext traced;
  ASSERT_TRUE(server.traced()->Say(&traced, note(""), &reply).ok());
  EXPECT_EQ(take_spans(1)[0].kind, kClient);
}

TEST(SyncCalls, AForgedSpanIsNotBelieved) {
  SyncEcho service;
  std::string seen;
  service.say = [&seen](::grpc::ServerContext& context, const Note&, Note&) {
    seen = context_of(context)->traceparent();
    return ::grpc::Status::OK;
  };
  Running server(service);
  ::grpc::ClientContext context;
  context.AddMetadata("fathom-span", kParent);
  Note reply;
  ASSERT_TRUE(server.plain()->Say(&context, note(""), &reply).ok());
  auto spans = take_spans(1);
  EXPECT_EQ(seen.substr(3, 32), spans[0].trace_id);
  EXPECT_EQ(seen.substr(36, 16), spans[0].span_id);
}

TEST(SyncStreams, AreOneSpanEach) {
  SyncEcho service;
  Running server(service);
  auto stub = server.traced();
  Note reply;
  {
    ::grpc::ClientContext context;
    auto writer = stub->Collect(&context, &reply);
    for (int i = 1; i <= 10; ++i) writer->Write(note("", i));
    writer->WritesDone();
    ASSERT_TRUE(writer->Finish().ok());
    EXPECT_EQ(reply.number(), 55);
  }
  {
    ::grpc::ClientContext context;
    auto reader = stub->Repeat(&context, note("again", 7));
    int count = 0;
    while (reader->Read(&reply)) ++count;
    ASSERT_TRUE(reader->Finish().ok());
    EXPECT_EQ(count, 7);
  }
  {
    ::grpc::ClientContext context;
    auto stream = stub->Chat(&context);
    for (int i = 0; i < 3; ++i) {
      stream->Write(note("ping", i));
      ASSERT_TRUE(stream->Read(&reply));
    }
    stream->WritesDone();
    ASSERT_TRUE(stream->Finish().ok());
  }
  auto spans = take_spans(9);
  for (auto [method, inner] : {std::pair("echo.Echo/Collect", "collecting"),
                               {"echo.Echo/Repeat", "repeating"},
                               {"echo.Echo/Chat", "chatting"}}) {
    EXPECT_EQ(only(spans, inner, kInternal).parent_span_id, only(spans, method, kServer).span_id);
    EXPECT_EQ(only(spans, method, kServer).parent_span_id, only(spans, method, kClient).span_id);
    EXPECT_EQ(only(spans, method, kServer).attribute("rpc.grpc.status_code"), "0");
  }
}

TEST(SyncStreams, OneThatIsGivenUpEndsItsSpans) {
  SyncEcho service;
  Running server(service);
  auto stub = server.traced();
  {
    ::grpc::ClientContext context;
    auto reader = stub->Repeat(&context, note("again", 1'000'000'000));
    Note reply;
    ASSERT_TRUE(reader->Read(&reply));
    context.TryCancel();
  }
  auto spans = take_spans(3);
  const ReadSpan& client = only(spans, "echo.Echo/Repeat", kClient);
  EXPECT_EQ(client.attribute("rpc.grpc.status_code"), "1");
  EXPECT_EQ(client.status, kError);
  const ReadSpan& served = only(spans, "echo.Echo/Repeat", kServer);
  EXPECT_TRUE(has_event(served, "call cancelled"));
  EXPECT_EQ(served.attribute("rpc.grpc.status_code"), "1");
}

}  // namespace
}  // namespace fathom::grpc::testing
