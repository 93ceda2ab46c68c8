#include "store/testing/span_builder.h"

#include "base/bytes.h"
#include "store/model/span_text.h"

namespace fathom::store::testing {

namespace {

// Views of one TestSpan, which must outlive them; the attributes of events and links live in their own vectors.
class Views {
 public:
  explicit Views(const TestSpan& span)
      : resource_attributes_(views(span.resource.attributes)),
        scope_attributes_(views(span.scope.attributes)),
        attributes_(views(span.attributes)) {
    for (const TestEvent& event : span.events) add(event);
    for (const TestLink& link : span.links) add(link);
    resource = {resource_attributes_, span.resource.schema_url, span.resource.dropped_attributes_count};
    scope = {span.scope.name, span.scope.version, scope_attributes_, span.scope.schema_url,
             span.scope.dropped_attributes_count};
    fill(span);
  }

  ResourceView resource;
  ScopeView scope;
  SpanView span;

 private:
  using Attributes = std::vector<AttributeView>;

  static Attributes views(const TestAttributes& attributes) {
    Attributes out;
    for (const TestAttribute& attribute : attributes) out.push_back(attribute.view());
    return out;
  }

  // Moving the vector of vectors moves no element, so that earlier views stay valid.
  std::span<const AttributeView> nested(const TestAttributes& attributes) {
    nested_.push_back(views(attributes));
    return nested_.back();
  }

  void add(const TestEvent& event) {
    events_.push_back({event.time_unix_nano, event.name, nested(event.attributes), event.dropped_attributes_count});
  }

  void add(const TestLink& link) {
    links_.push_back({link.trace_id, link.span_id, link.trace_state, nested(link.attributes),
                      link.dropped_attributes_count, link.flags});
  }

  void fill(const TestSpan& from) {
    span.trace_id = from.trace_id;
    span.span_id = from.span_id;
    span.parent_span_id = from.parent_span_id;
    span.start_unix_nano = from.start_unix_nano;
    span.end_unix_nano = from.end_unix_nano;
    span.name = from.name;
    span.kind = from.kind;
    span.status = from.status;
    span.status_message = from.status_message;
    span.trace_state = from.trace_state;
    span.flags = from.flags;
    span.attributes = attributes_;
    span.events = events_;
    span.links = links_;
    span.dropped_attributes_count = from.dropped_attributes_count;
    span.dropped_events_count = from.dropped_events_count;
    span.dropped_links_count = from.dropped_links_count;
  }

  Attributes resource_attributes_, scope_attributes_, attributes_;
  std::vector<Attributes> nested_;
  std::vector<EventView> events_;
  std::vector<LinkView> links_;
};

std::string shared_text(const TestSpan& span) {
  Views views(span);
  StoredSpan shared;
  shared.resource = views.resource;
  shared.scope = views.scope;
  return content_text(shared);
}

uint64_t last_bytes(std::string_view id) {
  return load_be64(id.data() + id.size() - 8);
}

}  // namespace

TraceId test_trace_id(uint64_t number) {
  std::string bytes("\x0a\0\0\0\0\0\0\0", 8);
  append_be64(bytes, number);
  return *TraceId::from_bytes(bytes);
}

SpanId test_span_id(uint64_t number) {
  std::string bytes;
  append_be64(bytes, number | uint64_t{0x0b} << 56);
  return *SpanId::from_bytes(bytes);
}

uint64_t number_of(const TraceId& id) {
  return last_bytes(id.view());
}
uint64_t number_of(const SpanId& id) {
  return last_bytes(id.view()) & ~(uint64_t{0xff} << 56);
}

TestSpan& TestSpan::of_service(std::string service_namespace, std::string service) {
  resource.attributes = {{"service.name", std::move(service)}};
  if (!service_namespace.empty()) resource.attributes.push_back({"service.namespace", std::move(service_namespace)});
  return *this;
}

TestSpan test_span(uint64_t trace, uint64_t span, int64_t start_nano, uint64_t duration_nano) {
  TestSpan out;
  out.trace_id = test_trace_id(trace);
  out.span_id = test_span_id(span);
  out.start_unix_nano = kTestNow + static_cast<uint64_t>(start_nano);
  out.end_unix_nano = out.start_unix_nano + duration_nano;
  return out;
}

BatchPtr make_batch(const std::vector<TestSpan>& spans, std::optional<ClockOffset> clock, const BatchLimits& limits,
                    std::optional<Hash128> identity) {
  BatchBuilder builder(limits, clock, identity);
  std::string shared;
  for (const TestSpan& span : spans) {
    Views views(span);
    if (std::string now = shared_text(span); now != shared) {
      builder.set_resource(views.resource);
      builder.set_scope(views.scope);
      shared = std::move(now);
    }
    builder.add(views.span);
  }
  return builder.finish();
}

std::string sent_text(const TestSpan& span, std::optional<ClockOffset> clock) {
  Views views(span);
  StoredSpan stored;
  stored.span = views.span;
  stored.resource = views.resource;
  stored.scope = views.scope;
  stored.clock = clock;
  return content_text(stored);
}

}  // namespace fathom::store::testing
