// HttpServerTest: a server of its own for every test, with a ScriptedHandler and the listener's label "test".
//
// Ownership: the server stops when the test ends.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/metrics.h"
#include "net/http_server.h"
#include "net/testing/raw_client.h"
#include "net/testing/scripted_handler.h"

namespace fathom::net::testing {

// How often the listener has refused for this reason; tests compare before and after.
inline uint64_t refused(const std::string& reason) {
  return counter("fathom_http_refused_total", "", "listener=\"test\",reason=\"" + reason + "\"").value();
}

class HttpServerTest : public ::testing::Test {
 protected:
  void start(HttpServerOptions options = {}) {
    options.listener = "test";
    server_ = std::make_unique<HttpServer>(options, handler_);
    auto bound = server_->start();
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    address_ = *bound;
  }
  RawClient connect() { return RawClient(address_); }
  std::string exchange(std::string_view request) {
    RawClient client = connect();
    client.send(request);
    client.finish_sending();
    return client.read_all();
  }

  std::shared_ptr<ScriptedHandler> handler_ = std::make_shared<ScriptedHandler>();
  std::unique_ptr<HttpServer> server_;
  std::string address_;
};

}  // namespace fathom::net::testing
