#include "query/control_routes.h"

#include <arpa/inet.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "net/http_text.h"
#include "query/control_asks.h"
#include "query/counters.h"
#include "query/http_face.h"

namespace fathom::query {

namespace {

using net::HttpRequest;
using net::HttpRespond;
using net::HttpResponse;

constexpr std::string_view kCaptures = "/api/v1/captures";
constexpr std::string_view kTracepoints = "/api/v1/tracepoints";
constexpr std::string_view kRules = "/api/v1/tracepoints/rules";

bool is_json(std::string_view content_type) {
  std::string type = net::lower_case(content_type.substr(0, content_type.find(';')));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  return type == "application/json";
}

// "http://host:7070" is of the host "host:7070"; "null" is of none.
bool is_of_host(std::string_view origin, std::string_view host) {
  size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos || host.empty()) return false;
  return net::lower_case(origin.substr(scheme + 3)) == net::lower_case(host);
}

// Without the port, and IPv6 without its brackets.
std::string host_name_of(std::string_view host) {
  auto parts = net::split_address(host);
  if (!parts) parts = net::split_address(std::string(host) + ":80");
  return parts ? net::lower_case(parts->first) : "";
}

// One that says where it is by itself. Any other name is its owner's to point here, with a page of theirs behind it.
bool needs_no_name_server(std::string_view host) {
  std::string name = host_name_of(host);
  in6_addr any;
  return name == "localhost" || ::inet_pton(AF_INET, name.c_str(), &any) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), &any) == 1;
}

bool is_own_page(std::string_view origin, std::string_view host) {
  return is_of_host(origin, host) && needs_no_name_server(host);
}

// An answer, or a fault, to whoever asked; and counted.
template <typename Replies>
Control::Done<Replies> responder(std::string_view name, HttpRespond respond) {
  return [name, respond = std::move(respond), since = now_monotonic_nano()](const Result<Replies>& replies) {
    count_finished(name, replies ? "ok" : error_code_name(replies.error().code), now_monotonic_nano() - since);
    respond(replies ? HttpResponse{.body = to_json(*replies)} : fault_response(replies.error()));
  };
}

void refuse_ask(const Error& fault, const HttpRespond& respond) {
  count_refused(error_code_name(fault.code));
  respond(fault_response(fault));
}

Result<TracepointAsk> tracepoint_ask(const HttpRequest& request) {
  return request.method == "POST" ? parse_tracepoint_ask(request.body) : tracepoint_list_ask(request);
}

}  // namespace

bool ControlRoutes::takes(const HttpRequest& request) {
  if (request.method == "POST") return request.path == kCaptures || request.path == kTracepoints;
  return (request.path == kTracepoints || request.path == kRules) &&
         (request.method == "GET" || request.method == "HEAD");
}

std::optional<HttpResponse> ControlRoutes::refuse(const HttpRequest& request) {
  if (request.method != "POST") return std::nullopt;
  std::string_view origin = request.header("origin");
  if (!origin.empty() && !is_own_page(origin, request.header("host"))) {
    return net::error_response(403, "pages of another site may not ask for this, nor those of a host by name");
  }
  if (is_json(request.header("content-type"))) return std::nullopt;
  return net::error_response(415, "the body must be JSON: say Content-Type: application/json");
}

void ControlRoutes::handle(const HttpRequest& request, HttpRespond respond) const {
  if (control_ == nullptr) {
    return refuse_ask({ErrorCode::kUnsupported, "this server asks nothing of nodes"}, respond);
  }
  if (request.path == kRules) return tracepoint_rules(request, std::move(respond));
  return request.path == kCaptures ? capture(request, std::move(respond)) : tracepoints(request, std::move(respond));
}

void ControlRoutes::capture(const HttpRequest& request, HttpRespond respond) const {
  Result<CaptureAsk> ask = parse_capture_ask(request.body);
  if (!ask) return refuse_ask(ask.error(), respond);
  control_->capture(*std::move(ask), responder<CaptureReplies>("capture_request", std::move(respond)));
}

void ControlRoutes::tracepoints(const HttpRequest& request, HttpRespond respond) const {
  Result<TracepointAsk> ask = tracepoint_ask(request);
  if (!ask) return refuse_ask(ask.error(), respond);
  control_->tracepoints(*std::move(ask), responder<TracepointReplies>("tracepoints", std::move(respond)));
}

void ControlRoutes::tracepoint_rules(const HttpRequest& request, HttpRespond respond) const {
  Result<> ask = tracepoint_rules_ask(request);
  if (!ask) return refuse_ask(ask.error(), respond);
  control_->tracepoint_rules(responder<TracepointRuleRows>("tracepoint_rules", std::move(respond)));
}

}  // namespace fathom::query
