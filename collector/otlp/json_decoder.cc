// ExportTraceServiceRequest as OTLP/JSON, read in place. Spans may stand before the resource or scope that they belong
// to, so a decoder passes over "scopeSpans" and "spans" first, and comes back to them when it has read the rest.
#include <optional>
#include <string>
#include <vector>

#include "collector/otlp/decoded.h"
#include "collector/otlp/json_cursor.h"
#include "collector/otlp/json_scalar.h"
#include "collector/otlp/json_value.h"
#include "collector/otlp/span_sink.h"

namespace fathom::collector {

namespace {

using store::EventView;
using store::LinkView;
using store::ResourceView;
using store::ScopeView;

constexpr JsonEnumName kSpanKinds[] = {
    {"SPAN_KIND_UNSPECIFIED", 0}, {"SPAN_KIND_INTERNAL", 1}, {"SPAN_KIND_SERVER", 2},
    {"SPAN_KIND_CLIENT", 3},      {"SPAN_KIND_PRODUCER", 4}, {"SPAN_KIND_CONSUMER", 5},
};
constexpr JsonEnumName kStatusCodes[] = {
    {"STATUS_CODE_UNSET", 0},
    {"STATUS_CODE_OK", 1},
    {"STATUS_CODE_ERROR", 2},
};

class JsonDecoder {
 public:
  JsonDecoder(std::string_view body, const store::BatchLimits& limits, const GrowMemory& grow, const Redactor* redactor)
      : json_(body), sink_(limits, grow, redactor), shared_attributes_(limits.attributes_per_span), draft_(limits) {}

  Result<Decoded> decode() {
    object(
        [&](std::string_view key) { key == "resourceSpans" ? array([&] { resource_spans(); }) : json_.skip_value(); });
    json_.expect_end();
    if (json_.failed() && sink_.ok()) return invalid(json_.error());
    return sink_.finish();
  }

 private:
  // Calls `take` at each member's value, which it reads or skips. Null is an object without members.
  template <typename Take>
  void object(Take take) {
    if (json_.take_null()) return;
    std::string scratch;
    std::string_view key;
    for (bool more = json_.begin_object(key, scratch); more; more = json_.next_member(key, scratch)) take(key);
  }
  template <typename Take>
  void array(Take take) {
    if (json_.take_null()) return;
    for (bool more = json_.begin_array(); more; more = json_.next_element()) take();
  }
  // Remembers where a value is, and passes over it.
  void postpone(std::vector<size_t>& positions) {
    positions.push_back(json_.position());
    json_.skip_value();
  }
  template <typename Take>
  void postponed_arrays(const std::vector<size_t>& positions, Take take) {
    size_t end = json_.position();
    for (size_t position : positions) {
      if (json_.failed()) return;
      json_.seek(position);
      array(take);
    }
    json_.seek(end);
  }
  std::string_view name() { return sink_.name(json_text(json_, sink_)); }

  void resource_spans() {
    ResourceView resource;
    std::vector<size_t> scope_spans;
    shared_attributes_.clear();
    object([&](std::string_view key) {
      if (key == "resource") return this->resource(resource);
      if (key == "schemaUrl") return void(resource.schema_url = name());
      key == "scopeSpans" ? postpone(scope_spans) : json_.skip_value();
    });
    resource.attributes = shared_attributes_.view();
    resource.dropped_attributes_count = shared_attributes_.dropped(resource.dropped_attributes_count);
    sink_.resource(resource);
    postponed_arrays(scope_spans, [&] { this->scope_spans(); });
  }

  void resource(ResourceView& resource) {
    object([&](std::string_view key) {
      if (key == "attributes") return attributes(shared_attributes_);
      if (key == "droppedAttributesCount") return void(resource.dropped_attributes_count = json_uint32(json_));
      json_.skip_value();
    });
  }

  void scope_spans() {
    ScopeView scope;
    std::vector<size_t> spans;
    shared_attributes_.clear();
    object([&](std::string_view key) {
      if (key == "scope") return this->scope(scope);
      if (key == "schemaUrl") return void(scope.schema_url = name());
      key == "spans" ? postpone(spans) : json_.skip_value();
    });
    scope.attributes = shared_attributes_.view();
    scope.dropped_attributes_count = shared_attributes_.dropped(scope.dropped_attributes_count);
    sink_.scope(scope);
    postponed_arrays(spans, [&] { span(); });
  }

  void scope(ScopeView& scope) {
    object([&](std::string_view key) {
      if (key == "name") return void(scope.name = name());
      if (key == "version") return void(scope.version = name());
      if (key == "attributes") return attributes(shared_attributes_);
      if (key == "droppedAttributesCount") return void(scope.dropped_attributes_count = json_uint32(json_));
      json_.skip_value();
    });
  }

  void span() {
    draft_.clear();
    object([&](std::string_view key) {
      if (!span_text(key) && !span_number(key) && !span_part(key)) json_.skip_value();
    });
    if (json_.failed()) return;
    sink_.span(draft_);
    if (!sink_.ok()) json_.fail("out of memory");
  }

  // True when the key was one of these and its value has been read; likewise below.
  bool span_text(std::string_view key) {
    if (key == "traceId") return draft_.trace_id = id<TraceId>(), true;
    if (key == "spanId") return draft_.span_id = id<SpanId>(), true;
    if (key == "parentSpanId") return draft_.parent_span_id = parent_id(), true;
    if (key == "name") return draft_.span.name = name(), true;
    if (key == "traceState") return draft_.span.trace_state = name(), true;
    return false;
  }

  bool span_number(std::string_view key) {
    store::SpanView& span = draft_.span;
    if (key == "startTimeUnixNano") return span.start_unix_nano = json_uint64(json_), true;
    if (key == "endTimeUnixNano") return span.end_unix_nano = json_uint64(json_), true;
    if (key == "kind") return span.kind = static_cast<store::SpanKind>(json_enum(json_, kSpanKinds)), true;
    if (key == "flags") return span.flags = json_uint32(json_), true;
    if (key == "droppedAttributesCount") return span.dropped_attributes_count = json_uint32(json_), true;
    if (key == "droppedEventsCount") return span.dropped_events_count = json_uint32(json_), true;
    if (key == "droppedLinksCount") return span.dropped_links_count = json_uint32(json_), true;
    return false;
  }

  bool span_part(std::string_view key) {
    if (key == "attributes") return attributes(draft_.attributes), true;
    if (key == "events") return array([&] { event(); }), true;
    if (key == "links") return array([&] { link(); }), true;
    if (key == "status") return status(), true;
    return false;
  }

  // Hexadecimal in either case; nothing when it is not an id of that length.
  template <typename T>
  std::optional<T> id() {
    if (json_.take_null()) return std::nullopt;
    std::string scratch;
    return T::from_hex_text(json_.string(scratch));
  }
  std::optional<SpanId> parent_id() {
    if (json_.take_null()) return SpanId{};
    std::string scratch;
    std::string_view hex = json_.string(scratch);
    return hex.empty() ? SpanId{} : SpanId::from_hex_text(hex);
  }

  void status() {
    object([&](std::string_view key) {
      if (key == "message") return void(draft_.span.status_message = name());
      if (key != "code") return json_.skip_value();
      draft_.span.status = static_cast<store::StatusCode>(json_enum(json_, kStatusCodes));
    });
  }

  void event() {
    if (draft_.events_full()) {
      draft_.drop_event();
      sink_.count(Loss::kEventLimit);
      return json_.skip_value();
    }
    EventView event;
    draft_.nested.clear();
    object([&](std::string_view key) {
      if (key == "timeUnixNano") return void(event.time_unix_nano = json_uint64(json_));
      if (key == "name") return void(event.name = name());
      if (key == "attributes") return attributes(draft_.nested);
      if (key == "droppedAttributesCount") return void(event.dropped_attributes_count = json_uint32(json_));
      json_.skip_value();
    });
    draft_.add_event(event);
  }

  void link() {
    if (draft_.links_full()) {
      drop_link(Loss::kLinkLimit);
      return json_.skip_value();
    }
    LinkView link;
    std::optional<TraceId> trace_id;
    std::optional<SpanId> span_id;
    draft_.nested.clear();
    object([&](std::string_view key) {
      if (key == "traceId") return void(trace_id = id<TraceId>());
      if (key == "spanId") return void(span_id = id<SpanId>());
      if (!link_part(key, link)) json_.skip_value();
    });
    if (!trace_id || !span_id) return drop_link(Loss::kLinkId);
    link.trace_id = *trace_id;
    link.span_id = *span_id;
    draft_.add_link(link);
  }

  bool link_part(std::string_view key, LinkView& link) {
    if (key == "traceState") return link.trace_state = name(), true;
    if (key == "attributes") return attributes(draft_.nested), true;
    if (key == "flags") return link.flags = json_uint32(json_), true;
    if (key == "droppedAttributesCount") return link.dropped_attributes_count = json_uint32(json_), true;
    return false;
  }

  void drop_link(Loss why) {
    draft_.drop_link();
    sink_.count(why);
  }

  void attributes(AttributeList& list) {
    array([&] { attribute(list); });
  }

  void attribute(AttributeList& list) {
    if (list.full()) {
      drop_attribute(list, Loss::kAttributeLimit);
      return json_.skip_value();
    }
    if (json_.take_null()) return list.add({}, {});
    json_key_value(json_, sink_, [&](std::string_view key, bool has_value) {
      store::ValueView value;
      switch (json_any_value(json_, key, has_value, value, sink_)) {
        case ValueOutcome::kRead:
          return list.add(sink_.key(key), value);
        case ValueOutcome::kRedacted:
          return list.drop();
        default:
          return drop_attribute(list, Loss::kAttributeDepth);
      }
    });
    if (!sink_.ok()) json_.fail("out of memory");
  }

  void drop_attribute(AttributeList& list, Loss why) {
    list.drop();
    sink_.count(why);
  }

  JsonCursor json_;
  SpanSink sink_;
  AttributeList shared_attributes_;  // of the resource or scope under way
  SpanDraft draft_;
};

}  // namespace

Result<Decoded> decode_json(std::string_view body, const store::BatchLimits& limits, const GrowMemory& grow,
                            const Redactor* redactor) {
  return JsonDecoder(body, limits, grow, redactor).decode();
}

}  // namespace fathom::collector
