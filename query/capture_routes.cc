#include "query/capture_routes.h"

#include "base/time.h"
#include "query/captures.h"
#include "query/lost_batches.h"
#include "query/queries.h"
#include "query/timeline/timeline_query.h"
#include "query/trace_name.h"

namespace fathom::query {

namespace {

using store::QueryBudget;
using Routed = Result<RoutedQuery>;
using QueryWork = decltype(RoutedQuery::work);

constexpr std::string_view kCapture = "/api/v1/captures/";
constexpr std::string_view kTrace = "/api/v1/traces/";
constexpr std::string_view kBytes = "application/octet-stream";

// What ids look like is the same for traces, captures and nodes: 32 digits.
template <typename SomeId>
Result<SomeId> id_of(std::string_view what, std::string_view text) {
  auto id = SomeId::from_hex_text(text);
  if (id && !id->is_zero()) return *id;
  return invalid(std::string(what) + " is " + std::to_string(2 * sizeof(SomeId)) +
                 " hexadecimal digits, not all of them zero");
}

// An id that a parameter may give. The first one that is none is remembered in `fault`.
template <typename SomeId>
std::optional<SomeId> param_id(Params& params, std::string_view key, std::string_view what,
                               std::optional<Error>& fault) {
  auto text = params.text(key);
  if (!text) return std::nullopt;
  auto id = id_of<SomeId>(what, *text);
  if (id) return *id;
  if (!fault) fault = invalid("'" + std::string(key) + "': " + id.error().message);
  return std::nullopt;
}

std::optional<CaptureTrigger> trigger_of(Params& params, std::optional<Error>& fault) {
  auto text = params.text("trigger");
  if (!text) return std::nullopt;
  auto trigger = capture_trigger_of(*text);
  if (!trigger && !fault) {
    fault = invalid("'trigger' must be " + words_of_capture_triggers());
  }
  return trigger;
}

// A process id means nothing without its node.
std::optional<store::CaptureProcess> process_of(Params& params, std::optional<Error>& fault) {
  auto node = param_id<store::NodeId>(params, "node_id", "a node id", fault);
  uint64_t pid = params.number("pid", 1, UINT32_MAX, 0);
  if (node && pid != 0) return store::CaptureProcess{*node, static_cast<uint32_t>(pid)};
  if ((node || pid != 0) && !fault) fault = invalid("'pid' and 'node_id' name a process together; give both");
  return std::nullopt;
}

Routed list_route(Params& params) {
  std::optional<Error> fault;
  CapturesQuery query;
  query.filter.trace_id = param_id<TraceId>(params, "trace_id", "a trace id", fault);
  query.filter.process = process_of(params, fault);
  query.filter.service = params.text("service");
  query.filter.trigger = trigger_of(params, fault);
  auto asked = params.range();
  bool whole_trace = query.filter.trace_id && !params.gives_range();
  query.filter.range = whole_trace ? store::TimeRange{0, UINT64_MAX} : asked.range;
  query.range_text = whole_trace ? "" : asked.text;
  query.limit = params.number("limit", 1, kMaxRows, kDefaultRows);
  query.cursor = params.text("cursor").value_or("");
  if (fault) return *fault;
  return RoutedQuery{.name = "captures",
                     .work = [query](const Stores& stores, QueryBudget& budget) -> Result<std::string> {
                       auto answer = run_captures(stores, query, budget);
                       if (!answer) return answer.error();
                       const auto lost = lost_captures(stores.captures, query.filter.range);
                       return with_lost_batches(to_json(*answer), lost);
                     },
                     .marks_losses = true};
}

TimelineQuery timeline_query(Params& params, std::optional<Error>& fault) {
  TimelineQuery query;
  query.span = param_id<SpanId>(params, "span", "a span id", fault);
  query.capture = param_id<store::CaptureId>(params, "capture", "a capture id", fault);
  query.all = params.flag("all");
  query.most_items = params.number("limit", 1, kMostTimelineItems, kTimelineItems);
  query.now_unix_nano = now_unix_nano();
  return query;
}

// What is asked of a trace that may be named by the beginning of its id.
template <typename Run>
QueryWork joined_work(Run run, const TimelineQuery& query, const std::optional<TraceName>& trace) {
  return [=](const Stores& stores, QueryBudget& budget) -> Result<std::string> {
    if (!trace) return run(stores, query, budget);
    auto id = resolve(stores, *trace, budget);
    if (!id) return id.error();
    TimelineQuery of_trace = query;
    of_trace.subject.trace = *id;
    return run(stores, of_trace, budget);
  };
}

// ID/timeline and ID/perfetto, of a trace and of a capture. For Perfetto all that there is, unless told otherwise.
Routed joined_route(Params& params, TimelineSubject subject, const std::optional<TraceName>& trace, bool perfetto) {
  std::optional<Error> fault;
  TimelineQuery query = timeline_query(params, fault);
  query.subject = subject;
  if (fault) return *fault;
  if (!perfetto) return RoutedQuery{.name = "timeline", .work = joined_work(run_timeline, query, trace)};
  query.all = true;
  return RoutedQuery{.name = "perfetto", .content_type = kBytes, .work = joined_work(run_perfetto, query, trace)};
}

Routed capture_document(const store::CaptureId& id, bool content) {
  if (content) {
    return RoutedQuery{.name = "capture_content",
                       .content_type = kBytes,
                       .work = [id](const Stores& stores, auto& budget) { return run_content(stores, id, budget); }};
  }
  return RoutedQuery{.name = "capture", .work = [id](const Stores& stores, QueryBudget& budget) {
                       return run_capture(stores, id, budget);
                     }};
}

// "ID" and what follows it, "/timeline"; nothing that follows is empty.
std::pair<std::string_view, std::string_view> split_id(std::string_view rest) {
  size_t slash = rest.find('/');
  return slash == std::string_view::npos ? std::pair(rest, std::string_view())
                                         : std::pair(rest.substr(0, slash), rest.substr(slash));
}

bool is_joined(std::string_view tail) {
  return tail == "/timeline" || tail == "/perfetto";
}

std::optional<Routed> one_capture_route(std::string_view rest, Params& params) {
  auto [text, tail] = split_id(rest);
  if (!tail.empty() && tail != "/content" && !is_joined(tail)) return std::nullopt;
  auto id = id_of<store::CaptureId>("a capture id", text);
  if (!id) return id.error();
  if (is_joined(tail)) return joined_route(params, {.capture = *id}, std::nullopt, tail == "/perfetto");
  return capture_document(*id, tail == "/content");
}

}  // namespace

std::optional<Result<RoutedQuery>> capture_route(std::string_view path, Params& params) {
  if (path == kCapturesPath) return list_route(params);
  if (path.starts_with(kCapture)) return one_capture_route(path.substr(kCapture.size()), params);
  if (!path.starts_with(kTrace)) return std::nullopt;
  auto [text, tail] = split_id(path.substr(kTrace.size()));
  if (!is_joined(tail)) return std::nullopt;
  auto name = trace_name(text);
  if (!name) return name.error();
  return joined_route(params, {}, *name, tail == "/perfetto");
}

}  // namespace fathom::query
