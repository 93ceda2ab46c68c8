// HttpFace: the HttpHandler behind the query listener: JSON queries, /metrics, /healthz, /readyz.
//
// Thread safety: all of it. Ownership: stores and runner outlive it. Queries are handed to the runner; what needs no
// query is answered at once.
#pragma once

#include <atomic>
#include <optional>

#include "net/http_server.h"
#include "query/control_routes.h"
#include "query/query_server.h"
#include "query/runner.h"

namespace fathom::query {

class HttpFace : public net::HttpHandler {
 public:
  HttpFace(const QueryOptions& options, const Stores& stores, QueryRunner& runner)
      : options_(options), stores_(stores), runner_(runner), control_(options.control) {}

  void set_ready(bool ready) { ready_.store(ready); }

  std::optional<net::HttpResponse> admit(net::HttpRequest& request) override;
  uint64_t max_body_bytes() const override { return 16384; }  // of control_routes.h; queries' are overlooked
  void handle(net::HttpRequest request, net::HttpRespond respond) override;

 private:
  std::optional<net::HttpResponse> plain_answer(const std::string& path);
  net::HttpResponse readiness();
  void run_query(net::HttpRequest request, net::HttpRespond respond);

  const QueryOptions options_;
  const Stores stores_;
  QueryRunner& runner_;
  const ControlRoutes control_;
  std::atomic<bool> ready_{false};
};

// The status that says `code`: 400, 404, 413, 499, 503, 504 or 500.
int http_status(ErrorCode code);
net::HttpResponse fault_response(const Error& fault);

}  // namespace fathom::query
