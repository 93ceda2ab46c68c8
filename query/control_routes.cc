#include "query/control_routes.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "query/capture_routes.h"
#include "query/control_asks.h"
#include "query/counters.h"
#include "query/http_face.h"
#include "query/json_body.h"

namespace fathom::query {

namespace {

using net::HttpRequest;
using net::HttpRespond;
using net::HttpResponse;

constexpr std::string_view kTracepoints = "/api/v1/tracepoints";
constexpr std::string_view kRules = "/api/v1/tracepoints/rules";

// An answer, or a fault, to whoever asked; and counted.
template <typename Answer>
Control::Done<Answer> responder(std::string_view name, HttpRespond respond) {
  return [name, respond = std::move(respond), since = now_monotonic_nano()](const Result<Answer>& answer) {
    count_finished(name, answer ? "ok" : error_code_name(answer.error().code), now_monotonic_nano() - since);
    respond(answer ? HttpResponse{.body = to_json(*answer)} : fault_response(answer.error()));
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
  if (request.method == "POST") return request.path == kCapturesPath || request.path == kTracepoints;
  return (request.path == kTracepoints || request.path == kRules) &&
         (request.method == "GET" || request.method == "HEAD");
}

std::optional<HttpResponse> ControlRoutes::refuse(const HttpRequest& request) {
  if (request.method != "POST") return std::nullopt;
  return refuse_other_than_json(request);
}

void ControlRoutes::handle(const HttpRequest& request, HttpRespond respond) const {
  if (control_ == nullptr) {
    return refuse_ask({ErrorCode::kUnsupported, "this server asks nothing of nodes"}, respond);
  }
  if (request.path == kRules) return tracepoint_rules(request, std::move(respond));
  return request.path == kCapturesPath ? capture(request, std::move(respond))
                                       : tracepoints(request, std::move(respond));
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
  control_->tracepoint_rules(responder<TracepointRules>("tracepoint_rules", std::move(respond)));
}

}  // namespace fathom::query
