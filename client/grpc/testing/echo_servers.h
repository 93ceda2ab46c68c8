// Servers on 127.0.0.1 whose handlers are given by the test.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include <fathom/grpc.h>
#include <grpcpp/grpcpp.h>

#include "testing/echo.grpc.pb.h"

namespace fathom::grpc::testing {

using echo::Echo;
using echo::Note;

inline constexpr const char* kSay = "echo.Echo/Say";  // the method's full name, after which spans are called

// Handlers of the sync API; Say answers with its request unless told otherwise, the streams are fixed.
class SyncEcho : public Echo::Service {
 public:
  using Handler = std::function<::grpc::Status(::grpc::ServerContext&, const Note&, Note&)>;
  Handler say = [](::grpc::ServerContext&, const Note& request, Note& reply) {
    reply = request;
    return ::grpc::Status::OK;
  };

  ::grpc::Status Say(::grpc::ServerContext* context, const Note* request, Note* reply) override {
    return say(*context, *request, *reply);
  }
  ::grpc::Status Collect(::grpc::ServerContext*, ::grpc::ServerReader<Note>* reader, Note* reply) override {
    Span span("collecting");
    for (Note note; reader->Read(&note);) reply->set_number(reply->number() + note.number());
    return ::grpc::Status::OK;
  }
  ::grpc::Status Repeat(::grpc::ServerContext*, const Note* request, ::grpc::ServerWriter<Note>* writer) override {
    Span span("repeating");
    for (int i = 0; i < request->number() && writer->Write(*request); ++i) {
    }
    return ::grpc::Status::OK;
  }
  ::grpc::Status Chat(::grpc::ServerContext*, ::grpc::ServerReaderWriter<Note, Note>* stream) override {
    Span span("chatting");
    for (Note note; stream->Read(&note);) stream->Write(note);
    return ::grpc::Status::OK;
  }
};

class CallbackEcho : public Echo::CallbackService {
 public:
  using Handler = std::function<::grpc::ServerUnaryReactor*(::grpc::CallbackServerContext*, const Note*, Note*)>;
  Handler say;
  ::grpc::ServerUnaryReactor* Say(::grpc::CallbackServerContext* context, const Note* request, Note* reply) override {
    return say(context, request, reply);
  }
  std::function<::grpc::ServerWriteReactor<Note>*(::grpc::CallbackServerContext*, const Note*)> repeat;
  ::grpc::ServerWriteReactor<Note>* Repeat(::grpc::CallbackServerContext* context, const Note* request) override {
    return repeat(context, request);
  }
};

// A server with one service, traced unless told otherwise, until the end of the scope.
class Running {
 public:
  explicit Running(::grpc::Service& service, bool traced = true) {
    ::grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", ::grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    if (traced) trace_server(builder);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~Running() { stop(); }
  void stop() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
    server_.reset();
  }

  const std::string& address() const { return address_; }
  std::unique_ptr<Echo::Stub> traced() const {
    return Echo::NewStub(traced_channel(address_, ::grpc::InsecureChannelCredentials()));
  }
  std::unique_ptr<Echo::Stub> plain() const {
    return Echo::NewStub(::grpc::CreateChannel(address_, ::grpc::InsecureChannelCredentials()));
  }

 private:
  std::unique_ptr<::grpc::Server> server_;
  std::string address_;
};

inline Note note(const std::string& text, int number = 0) {
  Note made;
  made.set_text(text);
  made.set_number(number);
  return made;
}

}  // namespace fathom::grpc::testing
