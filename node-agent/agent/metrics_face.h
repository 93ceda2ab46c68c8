// MetricsFace: GET /metrics and /healthz of an agent, for Prometheus and for whoever watches it.
//
// Thread safety: as net::HttpHandler's; it holds nothing. Errors: other paths are 404, other methods 405.
#pragma once

#include "net/http_server.h"

namespace fathom::agent {

class MetricsFace : public net::HttpHandler {
 public:
  std::optional<net::HttpResponse> admit(net::HttpRequest& request) override;
  uint64_t max_body_bytes() const override { return 0; }
  void handle(net::HttpRequest request, net::HttpRespond respond) override;
};

}  // namespace fathom::agent
