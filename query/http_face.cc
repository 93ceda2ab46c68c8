#include "query/http_face.h"

#include "base/metrics.h"
#include "base/time.h"
#include "net/gzip.h"
#include "query/accepts.h"
#include "query/answers_json.h"
#include "query/counters.h"
#include "query/json_body.h"
#include "query/routes.h"
#include "query/trace_pieces.h"

namespace fathom::query {

namespace {

using net::HttpRequest;
using net::HttpResponse;

constexpr size_t kWorthPacking = 64 * 1024;
constexpr std::string_view kWelcome =
    "fathom: why was this request slow?\n\n"
    "  GET /api/v1/slowest     the slowest traces or spans (service, operation, where, errors, since, ...)\n"
    "  GET /api/v1/traces/ID   one trace; ID/timeline: what its threads did; ID/perfetto: the same for Perfetto\n"
    "  GET /api/v1/captures    what was kept of its threads; captures/ID, captures/ID/content, captures/ID/timeline\n"
    "  GET /api/v1/services, /api/v1/operations, /api/v1/latency\n"
    "  GET /api/v1/heatmap, /api/v1/differences, /api/v1/graph: what the page draws\n"
    "  GET /api/v1/attributes, /api/v1/attributes/KEY/values\n"
    "  GET /api/v1/nodes       the hosts' agents\n"
    "  GET /api/v1/tracepoints what programs can record; POST switches it; tracepoints/rules: what was switched\n"
    "  POST /api/v1/captures   keep what the threads of a trace, a process or a service did\n"
    "  GET /api/v1/snapshots   control flow, instruction by instruction: snapshots/ID, snapshots/ID/calls, "
    "/functions,\n"
    "                          /insns, /syscalls, /delta, /sunburst, /stats, /diff/OTHER, /view; PUT\n"
    "                          snapshots/ID/bytes\n"
    "  POST /api/v1/page-links a code that gives a token to the page, once\n"
    "  POST /api/v1/purge      delete the traces with a matching span; GET: what became of it\n"
    "  GET /api/v1/status, /metrics, /healthz, /readyz\n";

HttpResponse text_response(std::string_view body, int status = 200) {
  return {.status = status, .content_type = "text/plain; charset=utf-8", .body = std::string(body)};
}

// A browser shows a picture as a page of this site; what symbols are called in it must not run there.
constexpr std::string_view kPicture = "image/svg+xml";
constexpr std::string_view kNoScripts = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

HttpResponse answer_response(std::string_view type, std::string body, bool may_pack) {
  HttpResponse response{.content_type = std::string(type), .body = std::move(body)};
  if (type == kPicture) response.headers.emplace_back("Content-Security-Policy", kNoScripts);
  if (!may_pack || response.body.size() < kWorthPacking) return response;
  response.body = net::gzip(response.body, 1);
  response.headers.emplace_back("Content-Encoding", "gzip");
  return response;
}

constexpr size_t kTransferThreads = 2;  // one may wait for the disk to sync gigabytes
constexpr size_t kWaitingWorkers = 16;
// A page asks for some pieces at once; of a snapshot that is still decoded, all of them wait.
constexpr size_t kViewThreads = 8;
constexpr size_t kWaitingViews = 64;

QueryOptions transfer_options(QueryOptions options) {
  options.threads = kTransferThreads;
  options.deadline_nano = options.max_deadline_nano;
  return options;
}

// Decoding takes what it takes; whoever asked can go away.
QueryOptions worker_options(QueryOptions options) {
  options.threads = options.snapshot_workers;
  options.queue = kWaitingWorkers;
  options.deadline_nano = options.max_deadline_nano;
  return options;
}

QueryOptions view_options(QueryOptions options) {
  options.threads = kViewThreads;
  options.queue = kWaitingViews;
  options.deadline_nano = options.max_deadline_nano;
  return options;
}

}  // namespace

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return 400;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kExhausted:
      return 413;
    case ErrorCode::kCancelled:
      return 499;
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kDeadline:
      return 504;
    case ErrorCode::kUnsupported:
      return 501;
    case ErrorCode::kCorrupt:
    case ErrorCode::kInternal:
      return 500;
  }
  return 500;
}

HttpResponse fault_response(const Error& fault) {
  HttpResponse response = net::error_response(http_status(fault.code), fault.message);
  if (response.status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

HttpFace::HttpFace(const QueryOptions& options, const Stores& stores, QueryRunner& runner)
    : options_(options),
      stores_(stores),
      runner_(runner),
      control_(options.control),
      transfers_(transfer_options(options)),
      workers_(worker_options(options)),
      views_(view_options(options)),
      uploads_(stores.snapshots, &transfers_),
      links_(now_unix_nano),
      purge_(options.purge_desk) {}

void HttpFace::stop() {
  transfers_.stop();
  workers_.stop();
  views_.stop();
}

// The page asks for a token itself, and has nothing of anybody's before it gets one.
bool HttpFace::is_open(const HttpRequest& request) const {
  if (request.method != "GET" && request.method != "HEAD") return false;
  if (request.path == "/healthz" || request.path == "/readyz") return true;
  const bool has_page = options_.page && !options_.page->empty();
  // Without a page, a browser is told how to get one.
  return has_page ? options_.page->answer(request).has_value() : is_page_address(request.path) && takes_html(request);
}

std::optional<net::Scope> HttpFace::scope_of(const HttpRequest& request) const {
  if (is_open(request) || PageLinks::is_open(request)) return std::nullopt;
  if (PageLinks::takes(request)) return net::Scope::kQuery;
  if (request.path.starts_with("/api/v1/snapshots") || UploadRoutes::takes(request)) return net::Scope::kSnapshots;
  if (PurgeRoutes::takes(request) && request.method == "POST") return net::Scope::kPurge;
  if (request.method == "POST") return net::Scope::kControl;
  return net::Scope::kQuery;
}

QueryRunner& HttpFace::runner_of(Lane lane) {
  switch (lane) {
    case Lane::kTransfers:
      return transfers_;
    case Lane::kWorkers:
      return workers_;
    case Lane::kViews:
      return views_;
    case Lane::kQueries:
      break;
  }
  return runner_;
}

std::optional<HttpResponse> HttpFace::admit(HttpRequest& request) {
  if (UploadRoutes::takes(request)) return uploads_.admit(request);
  if (ControlRoutes::takes(request)) return ControlRoutes::refuse(request);
  if (PageLinks::takes(request)) return refuse_other_than_json(request);
  if (PurgeRoutes::takes(request)) return PurgeRoutes::refuse(request);
  if (request.method == "GET" || request.method == "HEAD") return std::nullopt;
  HttpResponse response = net::error_response(405, "queries are asked with GET");
  response.headers.emplace_back("Allow", "GET, HEAD");
  return response;
}

bool HttpFace::grow_body(HttpRequest& request, uint64_t bytes) {
  return !UploadRoutes::takes(request) || request.reservation.grow(bytes);
}

uint64_t HttpFace::body_limit(const HttpRequest& request) const {
  return UploadRoutes::takes(request) ? UploadRoutes::body_limit(request) : max_body_bytes();
}

// What gives a token to a page counts as a query, although it needs no token.
net::HttpRespond HttpFace::audited(const HttpRequest& request, net::HttpRespond respond) const {
  const bool gives_token = PageLinks::is_open(request);
  const std::optional<net::Scope> scope = gives_token ? net::Scope::kQuery : scope_of(request);
  if (!scope || request.path == "/metrics") return respond;
  return net::AuditLog::noting(options_.audit, *scope, request, std::move(respond));
}

void HttpFace::handle(HttpRequest request, net::HttpRespond respond) {
  if (options_.audit) respond = audited(request, std::move(respond));
  if (UploadRoutes::takes(request)) return uploads_.handle(std::move(request), std::move(respond));
  if (auto answer = page_answer(request)) return respond(*std::move(answer));
  if (auto answer = plain_answer(request.path)) return respond(*std::move(answer));
  if (ControlRoutes::takes(request)) return control_.handle(request, std::move(respond));
  if (PageLinks::takes(request)) return respond(links_.answer(request));
  if (PurgeRoutes::takes(request)) return respond(purge_.answer(request));
  run_query(std::move(request), std::move(respond));
}

std::optional<HttpResponse> HttpFace::page_answer(const HttpRequest& request) {
  if (options_.page && !options_.page->empty()) return options_.page->answer(request);
  if (!is_page_address(request.path) || !takes_html(request)) return std::nullopt;
  return no_page_response(kWelcome);
}

std::optional<HttpResponse> HttpFace::lost_page(const Error& fault, const HttpRequest& request) const {
  if (fault.code != ErrorCode::kNotFound || !options_.page) return std::nullopt;
  return options_.page->lost(request);
}

std::optional<HttpResponse> HttpFace::plain_answer(const std::string& path) {
  if (path == "/") return text_response(kWelcome);
  if (path == "/healthz") return text_response("ok\n");
  if (path == "/readyz") return readiness();
  if (path == "/metrics") {
    show_store(stores_.spans.stats());
    return HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = render_metrics()};
  }
  if (path == "/api/v1/nodes") {
    return HttpResponse{.body = nodes_json(options_.nodes ? options_.nodes() : std::vector<NodeRow>())};
  }
  if (path == "/api/v1/status")
    return HttpResponse{
        .body = status_json(options_.version, ready_, stores_.spans.stats(), lost_batches(stores_.spans, {}))};
  return std::nullopt;
}

HttpResponse HttpFace::readiness() {
  if (!ready_.load()) return text_response("not ready: starting or stopping\n", 503);
  if (!stores_.spans.stats().writable)
    return text_response("not ready: the store cannot be written; is the disk full?\n", 503);
  return text_response("ready\n");
}

void HttpFace::run_query(HttpRequest request, net::HttpRespond respond) {
  auto routed = route(request, now_unix_nano(), options_.max_deadline_nano);
  if (!routed) {
    count_refused(error_code_name(routed.error().code));
    if (auto page = lost_page(routed.error(), request)) return respond(*std::move(page));
    return respond(fault_response(routed.error()));
  }
  QueryRunner& runner = runner_of(routed->lane);
  auto budget = runner.make_budget(routed->timeout_nano);
  if (request.cancel) {
    request.cancel->on_raise([weak = std::weak_ptr(budget)] {
      if (auto running = weak.lock()) running->cancel();
    });
  }
  if (routed->open_text) return run_text(*std::move(routed), budget, takes_gzip(request), std::move(respond));
  auto body = std::make_shared<std::string>();
  runner.run({.name = routed->name,
              .budget = budget,
              .work = [this, body, work = std::move(routed->work)](store::QueryBudget& budget) -> Result<> {
                auto answer = work(stores_, budget);
                if (!answer) return answer.error();
                *body = *std::move(answer);
                return {};
              },
              .done =
                  [body, respond = std::move(respond), type = routed->content_type,
                   may_pack = takes_gzip(request)](const Result<>& result) {
                    respond(result ? answer_response(type, std::move(*body), may_pack)
                                   : fault_response(result.error()));
                  }});
}

// Small documents are answered whole, as every other answer is.
void HttpFace::run_text(RoutedQuery routed, const std::shared_ptr<store::QueryBudget>& budget, bool may_pack,
                        net::HttpRespond respond) {
  struct Begun {
    std::unique_ptr<TraceText> text;
    std::string first;
  };
  auto begun = std::make_shared<Begun>();
  runner_.run(
      {.name = routed.name,
       .budget = budget,
       .work = [this, begun, open = std::move(routed.open_text)](store::QueryBudget& running) -> Result<> {
         auto text = open(stores_, running);
         if (!text) return text.error();
         begun->first = (*text)->next(kWholeTraceBytes);
         begun->text = *std::move(text);
         return {};
       },
       .done =
           [this, begun, may_pack, type = routed.content_type, respond = std::move(respond)](const Result<>& result) {
             if (!result) return respond(fault_response(result.error()));
             if (begun->text->is_complete()) {
               return respond(answer_response(type, std::move(begun->first), may_pack));
             }
             auto pieces = std::make_shared<TracePieces>(runner_, std::move(begun->text), may_pack);
             HttpResponse response{.content_type = std::string(type)};
             response.body = pieces->packed(std::move(begun->first), false);
             if (may_pack) response.headers.emplace_back("Content-Encoding", "gzip");
             response.rest = std::move(pieces);
             respond(std::move(response));
           }});
}

}  // namespace fathom::query
