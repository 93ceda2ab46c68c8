// HttpFace: the HttpHandler behind the query listener: the page, JSON queries, uploads, /metrics, /healthz, /readyz.
//
// Thread safety: all of it. Ownership: stores and runner outlive it. Queries are handed to the runner, or to runners of
// the face's own where they wait for disks (bytes of snapshots) or children (fathom-worker); what needs no query is
// answered at once.
#pragma once

#include <atomic>
#include <optional>

#include "net/http_server.h"
#include "query/control_routes.h"
#include "query/page_links.h"
#include "query/purge/purge_routes.h"
#include "query/query_server.h"
#include "query/routes.h"
#include "query/runner.h"
#include "query/snapshots/upload_routes.h"

namespace fathom::query {

class HttpFace : public net::HttpHandler {
 public:
  HttpFace(const QueryOptions& options, const Stores& stores, QueryRunner& runner);

  void set_ready(bool ready) { ready_.store(ready); }
  // Ends what its own runners do; later queries of theirs are refused.
  void stop();

  std::optional<net::HttpResponse> admit(net::HttpRequest& request) override;
  bool grow_body(net::HttpRequest& request, uint64_t bytes) override;
  std::optional<net::Scope> scope_of(const net::HttpRequest& request) const override;
  uint64_t max_body_bytes() const override { return 16384; }  // of control_routes.h; queries' are overlooked
  uint64_t body_limit(const net::HttpRequest& request) const override;
  void handle(net::HttpRequest request, net::HttpRespond respond) override;

 private:
  bool is_open(const net::HttpRequest& request) const;
  net::HttpRespond audited(const net::HttpRequest& request, net::HttpRespond respond) const;
  std::optional<net::HttpResponse> page_answer(const net::HttpRequest& request);
  std::optional<net::HttpResponse> lost_page(const Error& fault, const net::HttpRequest& request) const;
  std::optional<net::HttpResponse> plain_answer(const std::string& path);
  net::HttpResponse readiness();
  QueryRunner& runner_of(Lane lane);
  void run_query(net::HttpRequest request, net::HttpRespond respond);
  void run_text(RoutedQuery routed, const std::shared_ptr<store::QueryBudget>& budget, bool may_pack,
                net::HttpRespond respond);

  const QueryOptions options_;
  const Stores stores_;
  QueryRunner& runner_;
  const ControlRoutes control_;
  QueryRunner transfers_;
  QueryRunner workers_;
  QueryRunner views_;
  UploadRoutes uploads_;
  PageLinks links_;
  const PurgeRoutes purge_;
  std::atomic<bool> ready_{false};
};

// The status that says `code`: 400, 404, 413, 499, 503, 504 or 500.
int http_status(ErrorCode code);
net::HttpResponse fault_response(const Error& fault);

}  // namespace fathom::query
