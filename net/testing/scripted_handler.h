// ScriptedHandler: an HttpHandler whose every decision a test can set, and which remembers what it saw.
//
// Thread safety: settings are made before the server starts, or before the request they concern.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "net/http_server.h"

namespace fathom::net::testing {

class ScriptedHandler : public HttpHandler {
 public:
  std::optional<HttpResponse> admit(HttpRequest& request) override {
    if (request.path == "/preflight") return HttpResponse{.status = 204};
    if (request.path == "/refused") return error_response(403, "not you");
    return std::nullopt;
  }
  bool grow_body(HttpRequest&, uint64_t bytes) override { return granted.fetch_add(bytes) + bytes <= body_allowance; }
  HttpResponse explain(const HttpRequest& request, int status, std::string_view message) override {
    HttpResponse response = HttpHandler::explain(request, status, message);
    if (!explained_retry_after.empty()) response.headers.emplace_back("retry-after", explained_retry_after);
    return response;
  }
  HttpResponse error(int status, std::string_view message, std::string_view content_type) override {
    if (!own_errors) return HttpHandler::error(status, message, content_type);
    return {.status = status, .content_type = "text/plain", .body = "own error of '" + std::string(content_type) + "'"};
  }
  uint64_t max_body_bytes() const override { return 1024 * 1024; }

  // "/held" waits for the test; everything else is echoed at once.
  void handle(HttpRequest request, HttpRespond respond) override {
    if (request.path == "/dropped") return;
    if (request.path == "/large") return respond({.content_type = "text/plain", .body = std::string(large_bytes, 'x')});
    if (request.path != "/held") return respond(echo(request));
    std::lock_guard lock(mutex);
    held.emplace_back(std::move(request), std::move(respond));
    changed.notify_all();
  }

  std::pair<HttpRequest, HttpRespond> take_held() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return !held.empty(); });
    auto first = std::move(held.front());
    held.pop_front();
    return first;
  }

  static HttpResponse echo(const HttpRequest& request) {
    std::string body = request.method + " " + request.path + "\n";
    for (const auto& [key, value] : request.query) body += key + "=" + value + "\n";
    return {.content_type = "text/plain", .body = body + request.body};
  }

  std::atomic<uint64_t> granted{0};
  uint64_t body_allowance = UINT64_MAX;
  std::string explained_retry_after;  // what explain() adds; empty: nothing
  bool own_errors = false;            // their body names the Content-Type that error() was given
  size_t large_bytes = 64 * 1024 * 1024;

 private:
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<HttpRequest, HttpRespond>> held;
};

}  // namespace fathom::net::testing
