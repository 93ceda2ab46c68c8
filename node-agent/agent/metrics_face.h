// MetricsFace: GET /metrics and /healthz of an agent, for Prometheus and for whoever watches it; and /tracepoints
// (tracepoints_face.h).
//
// Thread safety: as net::HttpHandler's; what concerns the agent runs on its loop. Errors: other paths are 404, other
// methods 405. Who switches tracepoints is in the agent's log. A page of some other host that is open in a browser here
// may not switch anything: 403.
#pragma once

#include <functional>
#include <memory>

#include "net/audit_log.h"
#include "net/http_server.h"
#include "node-agent/agent/agent.h"

namespace fathom::agent {

class MetricsFace : public net::HttpHandler {
 public:
  // Has the function called on the agent's loop.
  using InLoop = std::function<void(std::function<void(Agent&)>)>;

  // Without `in_loop` there are no tracepoints.
  explicit MetricsFace(InLoop in_loop = {});

  std::optional<net::Scope> scope_of(const net::HttpRequest& request) const override;
  std::optional<net::HttpResponse> admit(net::HttpRequest& request) override;
  uint64_t max_body_bytes() const override { return 0; }
  void handle(net::HttpRequest request, net::HttpRespond respond) override;

 private:
  void handle_tracepoints(net::HttpRequest request, net::HttpRespond respond) const;

  const InLoop in_loop_;
  const std::shared_ptr<net::AuditLog> audit_;
};

}  // namespace fathom::agent
