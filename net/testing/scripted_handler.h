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
    if (request.path == "/pieces") return respond({.content_type = "text/plain", .body = "0", .rest = pieces(request)});
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

  // "/pieces?count=N&bytes=B": N pieces of B bytes after the first one, each made when it is asked for; with "fail",
  // the last of them is missing.
  std::shared_ptr<BodySource> pieces(const HttpRequest& request) {
    struct Pieces : BodySource {
      void next(std::function<void(std::optional<BodyPiece>)> deliver) override {
        ++handler->pieces_made;
        const bool is_last = --left == 0;
        if (is_last && fails) return deliver(std::nullopt);
        deliver(BodyPiece{std::string(bytes, static_cast<char>('a' + left % 26)), is_last});
      }
      uint64_t held_bytes() const override { return held; }
      ~Pieces() override { ++handler->sources_gone; }
      ScriptedHandler* handler = nullptr;
      uint64_t left = 1, bytes = 1, held = 0;
      bool fails = false;
    };
    auto source = std::make_shared<Pieces>();
    source->handler = this;
    source->left = std::stoull(std::string(request.param("count").value_or("1")));
    source->bytes = std::stoull(std::string(request.param("bytes").value_or("1")));
    source->held = std::stoull(std::string(request.param("held").value_or("0")));
    source->fails = request.param("fail").has_value();
    return source;
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
  std::atomic<uint64_t> pieces_made{0};
  std::atomic<uint64_t> sources_gone{0};
  size_t large_bytes = 64 * 1024 * 1024;

 private:
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<HttpRequest, HttpRespond>> held;
};

}  // namespace fathom::net::testing
