// HttpServer: HTTP/1.1 over Boost.Beast for every HTTP face of fathom (OTLP, queries, metrics, the page).
//
// Purpose: one careful listener. The header is read first (bounded in size and time) and shown to the handler, which
// may refuse, or reserve memory for the body; the body is then read up to its limit with a minimum pace (a slow-loris
// is cut off); handle() gets the whole request and answers later, from any thread. Idle connections are cheap and time
// out. Content-Encoding gzip is the handler's business (net/gzip.h). When the peer goes away, `cancelled` becomes true.
// Thread safety: start() and stop() from one thread; handlers are called on the server's threads, several at once.
// Errors: start() fails with a message that names the address. Losses: fathom_http_refused_total{listener,reason};
// with TLS also fathom_tls_refused_total, with tokens fathom_auth_refused_total.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_budget.h"
#include "base/result.h"
#include "net/body_source.h"
#include "net/cancel.h"
#include "net/listener_security.h"
#include "net/scopes.h"

namespace fathom::net {

struct HttpRequest {
  std::string method;                                        // upper case
  std::string path;                                          // percent-decoded, without the query
  std::vector<std::pair<std::string, std::string>> query;    // percent-decoded, in order; keys may repeat
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  std::optional<uint64_t> content_length;        // nothing: chunked
  Reservation reservation;                       // memory taken for this request; given back when the request dies
  std::shared_ptr<std::atomic<bool>> cancelled;  // set when the peer has gone away
  std::shared_ptr<CancelSignal> cancel;          // the same, for those who must be called when it happens
  std::string peer;                              // "HOST:PORT"
  std::string token_name;                        // of the token that let it in; empty: none was asked for

  std::string_view header(std::string_view lower_case_name) const;
  std::optional<std::string_view> param(std::string_view key) const;  // the first of that key
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  // What follows `body`, which is then the first piece; null: nothing. A client of HTTP/1.0 reads until the end of the
  // connection, others get chunks.
  std::shared_ptr<BodySource> rest = nullptr;
};

// {"error":{"code":..,"message":..}}: the shape of every error that has no other to keep to.
HttpResponse error_response(int status, std::string_view message);

// Calls after the first do nothing; a peer that was never answered, because every copy died, is told 500.
using HttpRespond = std::function<void(HttpResponse)>;

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // The header is here, the body is not. To refuse, return the answer (the connection then closes). To go on, return
  // nothing; a handler that guards memory opens `request.reservation` now and takes from it in `grow_body`, which the
  // server calls as the body comes.
  virtual std::optional<HttpResponse> admit(HttpRequest& request) = 0;
  // Called as a body comes, before its next `bytes` (up to 64 KiB) are kept; false answers 503 with Retry-After. The
  // sum of all calls never exceeds a Content-Length, and a chunked body by less than one step.
  virtual bool grow_body(HttpRequest&, uint64_t /*bytes*/) { return true; }
  // What a token must allow for this request. No value: no token is needed, because balancers ask for it, or because
  // nobody's data is in it. Called before admit(). On a loopback address, /metrics never needs one.
  virtual std::optional<Scope> scope_of(const HttpRequest& request) const {
    return request.path == "/healthz" ? std::nullopt : std::optional(Scope::kQuery);
  }
  // Whether pages of the site that the request's Origin names may send it (CORS).
  virtual bool allows_origin(const HttpRequest&) const { return false; }
  virtual uint64_t max_body_bytes() const = 0;  // larger bodies: 413
  // The same for one request whose header is known, where some addresses take larger bodies than others.
  virtual uint64_t body_limit(const HttpRequest&) const { return max_body_bytes(); }
  // Shapes the server's own refusals of a request whose header admit() has seen: 413 for a body beyond the limit, 503
  // for one that grow_body() refused, 408 for one that is too slow, 400 for one that is malformed or ends too early,
  // 417 for an expectation that cannot be met. The answer may have another status. A 503 without Retry-After gets one.
  virtual HttpResponse explain(const HttpRequest& request, int status, std::string_view message);
  // How an error of this listener looks: shapes all other answers that are the server's own, to those whose header
  // admit() never saw (400, 408, 431, 501), to connections beyond the limit (503, as above), and for requests that
  // were dropped unanswered (500). Called on any thread. `content_type` is the request's as far as it is known, else
  // empty.
  virtual HttpResponse error(int status, std::string_view message, std::string_view content_type);
  // Exactly one call of `respond`, from any thread, at any time; later is fine.
  virtual void handle(HttpRequest request, HttpRespond respond) = 0;
};

struct HttpServerOptions {
  std::string listener = "http";  // the label in metrics
  std::string address = "127.0.0.1:0";
  size_t threads = 1;
  size_t max_connections = 4096;
  uint64_t header_timeout_nano = 10'000'000'000;
  uint64_t idle_timeout_nano = 120'000'000'000;
  // Of a request's body and of an answer; averaged after a grace of header_timeout_nano.
  uint64_t body_min_bytes_per_s = 1024;
  // Beyond the first 64 KiB of either: it holds memory that others wait for.
  uint64_t large_body_min_bytes_per_s = 128 * 1024;
  uint64_t body_stall_timeout_nano = 30'000'000'000;  // the longest pause within a body, whatever its pace was
  size_t max_header_bytes = 64 * 1024;
  // For bodies of answers beyond 64 KiB, and what their rests hold, from their making until they are read; smaller ones
  // are always given. Without room the answer is 503 with Retry-After, or 413 when it is larger than all of it. None:
  // no such limit.
  std::shared_ptr<ByteBudget> answers;
  // Requests for other hosts, and by pages of other sites, get 403 (allowed_hosts.h). If no names are configured, a
  // listener that has TLS, or that other hosts reach, answers every host name; without TLS it warns about it in the
  // log. With tokens, requests without one get 401, and those whose token lacks the scope 403 (scope_of()).
  ListenerSecurity security;
};

// How long a body or an answer may take until `bytes` of it have passed: 64 MiB have some ten minutes by default.
uint64_t body_allowance_nano(const HttpServerOptions& options, uint64_t bytes);

class HttpServer {
 public:
  HttpServer(HttpServerOptions options, std::shared_ptr<HttpHandler> handler);
  ~HttpServer();
  // Binds and serves; returns the bound "HOST:PORT".
  Result<std::string> start();
  // Stops accepting, lets answers under way finish for `grace_nano`, closes the rest.
  void stop(uint64_t grace_nano);

  struct Impl;  // net/http_server_impl.h

 private:
  std::shared_ptr<Impl> impl_;
};

// Splits "HOST:PORT" ("127.0.0.1:4318", "[::1]:0", "localhost:80").
Result<std::pair<std::string, uint16_t>> split_address(std::string_view address);

}  // namespace fathom::net
