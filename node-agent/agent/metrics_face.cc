#include "node-agent/agent/metrics_face.h"

#include <memory>
#include <utility>

#include "base/metrics.h"
#include "node-agent/agent/tracepoints_face.h"

namespace fathom::agent {

namespace {

constexpr std::string_view kTracepoints = "/tracepoints";

}  // namespace

// In the agent's log, which cannot fail to open.
MetricsFace::MetricsFace(InLoop in_loop) : in_loop_(std::move(in_loop)), audit_(*net::AuditLog::open("")) {}

std::optional<net::Scope> MetricsFace::scope_of(const net::HttpRequest& request) const {
  return request.method == "POST" ? net::Scope::kControl : HttpHandler::scope_of(request);
}

std::optional<net::HttpResponse> MetricsFace::admit(net::HttpRequest& request) {
  if (request.method == "GET" || request.method == "HEAD") return std::nullopt;
  bool switches = request.method == "POST" && request.path == kTracepoints;
  if (switches && !request.header("origin").empty())
    return net::error_response(403, "pages may not switch tracepoints");
  if (switches) return std::nullopt;
  net::HttpResponse response = net::error_response(405, "an agent is asked with GET");
  response.headers.emplace_back("Allow", "GET, HEAD");
  return response;
}

void MetricsFace::handle(net::HttpRequest request, net::HttpRespond respond) {
  if (request.path == "/healthz") return respond({.content_type = "text/plain; charset=utf-8", .body = "ok\n"});
  if (request.path == "/metrics")
    return respond({.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = render_metrics()});
  if (request.path == kTracepoints && in_loop_) return handle_tracepoints(std::move(request), std::move(respond));
  respond(net::error_response(404, "an agent has /metrics, /healthz and /tracepoints"));
}

void MetricsFace::handle_tracepoints(net::HttpRequest request, net::HttpRespond respond) const {
  if (request.method == "POST") {
    respond = net::AuditLog::noting(audit_, net::Scope::kControl, request, std::move(respond));
  }
  // Shared, because a std::function must be copyable.
  auto asked = std::make_shared<net::HttpRequest>(std::move(request));
  in_loop_([asked, respond = std::move(respond)](Agent& agent) {
    respond(asked->method == "POST" ? switch_tracepoints(agent, *asked) : list_tracepoints(agent));
  });
}

}  // namespace fathom::agent
