#include "node-agent/agent/metrics_face.h"

#include "base/metrics.h"

namespace fathom::agent {

std::optional<net::HttpResponse> MetricsFace::admit(net::HttpRequest& request) {
  if (request.method == "GET" || request.method == "HEAD") return std::nullopt;
  net::HttpResponse response = net::error_response(405, "an agent is asked with GET");
  response.headers.emplace_back("Allow", "GET, HEAD");
  return response;
}

void MetricsFace::handle(net::HttpRequest request, net::HttpRespond respond) {
  if (request.path == "/healthz") return respond({.content_type = "text/plain; charset=utf-8", .body = "ok\n"});
  if (request.path == "/metrics")
    return respond({.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = render_metrics()});
  respond(net::error_response(404, "an agent has /metrics and /healthz"));
}

}  // namespace fathom::agent
