// Requests for captures and timelines over gRPC.
#include "query/proto_convert.h"

namespace fathom::query {

namespace {

// An id that may be left out.
template <typename SomeId>
Result<std::optional<SomeId>> id_in(const std::string& bytes, const char* field) {
  if (bytes.empty()) return std::optional<SomeId>();
  auto id = SomeId::from_bytes(bytes);
  if (id && !id->is_zero()) return id;
  return invalid(std::string(field) + " must have " + std::to_string(sizeof(SomeId)) + " bytes, not all of them zero");
}

Result<> read_process(const v1::ListCapturesRequest& request, store::CaptureFilter& filter) {
  auto node = id_in<store::NodeId>(request.node_id(), "node_id");
  if (!node) return node.error();
  if (node->has_value() != (request.pid() != 0)) return invalid("pid and node_id name a process together; give both");
  if (*node) filter.process = store::CaptureProcess{**node, request.pid()};
  return {};
}

Result<> read_trigger(const v1::ListCapturesRequest& request, store::CaptureFilter& filter) {
  if (request.trigger().empty()) return {};
  filter.trigger = capture_trigger_of(request.trigger());
  if (filter.trigger) return {};
  return invalid("trigger must be " + words_of_capture_triggers());
}

Result<> read_range(const v1::ListCapturesRequest& request, uint64_t now_unix_nano, CapturesQuery& query) {
  if (query.filter.trace_id && !request.has_range()) {
    query.filter.range = {0, UINT64_MAX};
    return {};
  }
  auto asked = range_of(request.range(), now_unix_nano);
  if (!asked) return asked.error();
  query.filter.range = asked->range;
  query.range_text = asked->text;
  return {};
}

}  // namespace

Result<CapturesQuery> query_of(const v1::ListCapturesRequest& request, uint64_t now_unix_nano) {
  CapturesQuery query;
  auto trace = id_in<TraceId>(request.trace_id(), "trace_id");
  if (!trace) return trace.error();
  query.filter.trace_id = *trace;
  query.filter.service = text_of(request.service());
  if (auto read = read_process(request, query.filter); !read) return read.error();
  if (auto read = read_trigger(request, query.filter); !read) return read.error();
  if (auto read = read_range(request, now_unix_nano, query); !read) return read.error();
  if (request.limit() > kMaxRows) return invalid("limit may be at most " + std::to_string(kMaxRows));
  query.limit = request.limit() == 0 ? kDefaultRows : request.limit();
  query.cursor = request.cursor();
  return query;
}

Result<store::CaptureId> capture_id_of(const v1::GetCaptureRequest& request) {
  auto id = id_in<store::CaptureId>(request.capture_id(), "capture_id");
  if (!id) return id.error();
  if (!*id) return invalid("capture_id must name a capture");
  return **id;
}

Result<TimelineQuery> query_of(const v1::TimelineRequest& request) {
  auto trace = id_in<TraceId>(request.trace_id(), "trace_id");
  auto capture = id_in<store::CaptureId>(request.capture_id(), "capture_id");
  auto span = id_in<SpanId>(request.span_id(), "span_id");
  if (!trace) return trace.error();
  if (!capture) return capture.error();
  if (!span) return span.error();
  if (!*trace && !*capture) return invalid("trace_id or capture_id must be given");
  if (request.limit() > kMostTimelineItems) {
    return invalid("limit may be at most " + std::to_string(kMostTimelineItems));
  }
  TimelineQuery query{.span = *span, .all = request.all() || request.perfetto()};
  query.subject = *trace ? TimelineSubject{.trace = *trace} : TimelineSubject{.capture = *capture};
  if (*trace) query.capture = *capture;
  query.most_items = request.limit() == 0 ? kTimelineItems : request.limit();
  return query;
}

}  // namespace fathom::query
