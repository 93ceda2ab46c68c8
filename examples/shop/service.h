// What the shop's three services have in common: they are named, traced, started, announced and stopped.
#pragma once

#include <memory>
#include <string>

#include <fathom/grpc.h>
#include <grpcpp/grpcpp.h>

namespace shop {

// Names this program to whoever looks at its spans.
void name_program(const std::string& service);

// SIGINT and SIGTERM wait for wait_for_stop(); call it before the first thread starts.
void hold_signals();
// False when the time (in nanoseconds; -1: for ever) passed without one.
bool wait_for_stop(int64_t timeout_nano = -1);

// Serves until told to stop. Prints the address as one line, for whoever chose port 0.
int serve(::grpc::Service& service, const std::string& listen);

// At the end of a program. Not for safety, since the agent reads what a dead program left: only so that its last spans
// can be looked at soon.
void let_spans_be_taken();

// A channel whose calls are spans.
std::shared_ptr<::grpc::Channel> connect(const std::string& address);

}  // namespace shop
