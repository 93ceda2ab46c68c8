// ExportTraceServiceRequest as protobuf, read in place. A ResourceSpans is passed over twice: first for the resource,
// which may stand behind its spans on the wire, then for the spans; passing over a field is one addition.
#include <string>

#include "base/protobuf_wire.h"
#include "collector/otlp/decoded.h"
#include "collector/otlp/protobuf_value.h"
#include "collector/otlp/span_sink.h"

namespace fathom::collector {

namespace {

using store::EventView;
using store::LinkView;
using store::ResourceView;
using store::ScopeView;
using store::SpanKind;
using store::StatusCode;

// Enumerations are open on the wire; what is not known is the zero.
SpanKind span_kind(uint64_t bits) {
  return bits <= static_cast<uint64_t>(SpanKind::kConsumer) ? static_cast<SpanKind>(bits) : SpanKind::kUnspecified;
}
StatusCode status_code(uint64_t bits) {
  return bits <= static_cast<uint64_t>(StatusCode::kError) ? static_cast<StatusCode>(bits) : StatusCode::kUnset;
}

// Absent and empty both mean that there is no parent; nothing is returned for what is not an id.
std::optional<SpanId> parent_id(std::string_view raw) {
  return raw.empty() ? SpanId{} : SpanId::from_bytes(raw);
}

class ProtobufDecoder {
 public:
  ProtobufDecoder(const store::BatchLimits& limits, const GrowMemory& grow, const Stamp& stamp,
                  const Redactor* redactor)
      : sink_(limits, grow, redactor, stamp), shared_attributes_(limits.attributes_per_span), draft_(limits) {}

  Result<Decoded> decode(std::string_view request) {
    bool read = each(request, bytes_field(1), [&](std::string_view part) { return resource_spans(part); });
    if (!read && sink_.ok()) return invalid(std::string("malformed protobuf in ") + part_);
    return sink_.finish();
  }

 private:
  // Calls `take` with every field of one tag. Ends early, false, when bytes are malformed or memory is refused.
  template <typename Take>
  bool each(std::string_view message, uint32_t tag, Take take) {
    WireReader reader(message);
    for (WireField field; reader.next(field);) {
      if (field.tag == tag && !take(field.bytes)) return false;
    }
    return !reader.failed();
  }
  bool in(const char* part, bool read) {
    if (!read && !failed_in_part_) part_ = part;
    failed_in_part_ = failed_in_part_ || !read;
    return read;
  }

  bool resource_spans(std::string_view message) {
    ResourceView resource;
    shared_attributes_.clear();
    if (!in("a resource", read_resource(message, resource))) return false;
    resource.attributes = shared_attributes_.view();
    resource.dropped_attributes_count = shared_attributes_.dropped(resource.dropped_attributes_count);
    sink_.resource(resource);
    return each(message, bytes_field(2), [&](std::string_view part) { return scope_spans(part); });
  }

  bool read_resource(std::string_view message, ResourceView& resource) {
    WireReader reader(message);
    for (WireField field; reader.next(field);) {
      if (field.tag == bytes_field(1) && !resource_part(field.bytes, resource)) return false;
      if (field.tag == bytes_field(3)) resource.schema_url = sink_.name(field.bytes);
    }
    return !reader.failed();
  }

  bool resource_part(std::string_view message, ResourceView& resource) {
    WireReader reader(message);
    for (WireField field; reader.next(field);) {
      if (field.tag == bytes_field(1) && !attribute(field.bytes, shared_attributes_)) return false;
      if (field.tag == varint_field(2)) resource.dropped_attributes_count = static_cast<uint32_t>(field.bits);
    }
    return !reader.failed();
  }

  bool scope_spans(std::string_view message) {
    ScopeView scope;
    shared_attributes_.clear();
    if (!in("a scope", read_scope(message, scope))) return false;
    scope.attributes = shared_attributes_.view();
    scope.dropped_attributes_count = shared_attributes_.dropped(scope.dropped_attributes_count);
    sink_.scope(scope);
    return each(message, bytes_field(2), [&](std::string_view part) { return in("a span", span(part)); });
  }

  bool read_scope(std::string_view message, ScopeView& scope) {
    WireReader reader(message);
    for (WireField field; reader.next(field);) {
      if (field.tag == bytes_field(1) && !scope_part(field.bytes, scope)) return false;
      if (field.tag == bytes_field(3)) scope.schema_url = sink_.name(field.bytes);
    }
    return !reader.failed();
  }

  bool scope_part(std::string_view message, ScopeView& scope) {
    WireReader reader(message);
    for (WireField field; reader.next(field);) {
      if (field.tag == bytes_field(1)) scope.name = sink_.name(field.bytes);
      if (field.tag == bytes_field(2)) scope.version = sink_.name(field.bytes);
      if (field.tag == bytes_field(3) && !attribute(field.bytes, shared_attributes_)) return false;
      if (field.tag == varint_field(4)) scope.dropped_attributes_count = static_cast<uint32_t>(field.bits);
    }
    return !reader.failed();
  }

  bool span(std::string_view message) {
    draft_.clear();
    WireReader reader(message);
    for (WireField field; reader.next(field);) {
      if (!span_field(field)) return false;
    }
    if (reader.failed()) return false;
    sink_.span(draft_);
    return sink_.ok();
  }

  bool span_field(const WireField& field) {
    store::SpanView& span = draft_.span;
    switch (field.tag) {
      case bytes_field(1):
        draft_.trace_id = TraceId::from_bytes(field.bytes);
        return true;
      case bytes_field(2):
        draft_.span_id = SpanId::from_bytes(field.bytes);
        return true;
      case bytes_field(3):
        span.trace_state = sink_.name(field.bytes);
        return true;
      case bytes_field(4):
        draft_.parent_span_id = parent_id(field.bytes);
        return true;
      case bytes_field(5):
        span.name = sink_.name(field.bytes);
        return true;
      case varint_field(6):
        span.kind = span_kind(field.bits);
        return true;
      case fixed64_field(7):
        span.start_unix_nano = field.bits;
        return true;
      case fixed64_field(8):
        span.end_unix_nano = field.bits;
        return true;
      case bytes_field(9):
        return attribute(field.bytes, draft_.attributes);
      case bytes_field(11):
        return event(field.bytes);
      case bytes_field(13):
        return link(field.bytes);
      case bytes_field(15):
        return status(field.bytes);
      default:
        return span_count(field);
    }
  }

  // The counts, which few spans carry, and whatever is unknown.
  bool span_count(const WireField& field) {
    store::SpanView& span = draft_.span;
    uint32_t value = static_cast<uint32_t>(field.bits);
    if (field.tag == varint_field(10)) span.dropped_attributes_count = value;
    if (field.tag == varint_field(12)) span.dropped_events_count = value;
    if (field.tag == varint_field(14)) span.dropped_links_count = value;
    if (field.tag == fixed32_field(16)) span.flags = value;
    return true;
  }

  bool status(std::string_view message) {
    WireReader reader(message);
    for (WireField field; reader.next(field);) {
      if (field.tag == bytes_field(2)) draft_.span.status_message = sink_.name(field.bytes);
      if (field.tag == varint_field(3)) draft_.span.status = status_code(field.bits);
    }
    return !reader.failed();
  }

  bool event(std::string_view message) {
    if (draft_.events_full()) {
      draft_.drop_event();
      sink_.count(Loss::kEventLimit);
      return true;
    }
    EventView event;
    draft_.nested.clear();
    WireReader reader(message);
    for (WireField field; reader.next(field);) {
      if (field.tag == fixed64_field(1)) event.time_unix_nano = field.bits;
      if (field.tag == bytes_field(2)) event.name = sink_.name(field.bytes);
      if (field.tag == bytes_field(3) && !attribute(field.bytes, draft_.nested)) return false;
      if (field.tag == varint_field(4)) event.dropped_attributes_count = static_cast<uint32_t>(field.bits);
    }
    draft_.add_event(event);
    return !reader.failed();
  }

  bool link(std::string_view message) {
    if (draft_.links_full()) return drop_link(Loss::kLinkLimit);
    LinkView link;
    std::optional<TraceId> trace_id;
    std::optional<SpanId> span_id;
    draft_.nested.clear();
    WireReader reader(message);
    for (WireField field; reader.next(field);) {
      if (field.tag == bytes_field(1)) trace_id = TraceId::from_bytes(field.bytes);
      if (field.tag == bytes_field(2)) span_id = SpanId::from_bytes(field.bytes);
      if (!link_field(field, link)) return false;
    }
    if (reader.failed()) return false;
    if (!trace_id || !span_id) return drop_link(Loss::kLinkId);
    link.trace_id = *trace_id;
    link.span_id = *span_id;
    draft_.add_link(link);
    return true;
  }

  bool link_field(const WireField& field, LinkView& link) {
    if (field.tag == bytes_field(3)) link.trace_state = sink_.name(field.bytes);
    if (field.tag == varint_field(5)) link.dropped_attributes_count = static_cast<uint32_t>(field.bits);
    if (field.tag == fixed32_field(6)) link.flags = static_cast<uint32_t>(field.bits);
    return field.tag != bytes_field(4) || attribute(field.bytes, draft_.nested);
  }

  bool drop_link(Loss why) {
    draft_.drop_link();
    sink_.count(why);
    return true;
  }

  bool attribute(std::string_view message, AttributeList& list) {
    if (list.full()) return drop_attribute(list, Loss::kAttributeLimit);
    ProtobufKeyValue pair;
    if (!read_key_value(message, pair, sink_)) return false;
    store::ValueView value;
    switch (read_any_value(pair.value, pair.key, value, sink_)) {
      case ValueOutcome::kMalformed:
        return false;
      case ValueOutcome::kRedacted:
        list.drop();
        return sink_.ok();
      case ValueOutcome::kTooDeep:
        return drop_attribute(list, Loss::kAttributeDepth);
      case ValueOutcome::kRead:
        break;
    }
    list.add(sink_.key(pair.key), value);
    return sink_.ok();
  }

  bool drop_attribute(AttributeList& list, Loss why) {
    list.drop();
    sink_.count(why);
    return true;
  }

  SpanSink sink_;
  AttributeList shared_attributes_;  // of the resource or scope under way
  SpanDraft draft_;
  const char* part_ = "the request";
  bool failed_in_part_ = false;
};

}  // namespace

Result<Decoded> decode_protobuf(std::string_view body, const store::BatchLimits& limits, const GrowMemory& grow,
                                const Stamp& stamp, const Redactor* redactor) {
  return ProtobufDecoder(limits, grow, stamp, redactor).decode(body);
}

}  // namespace fathom::collector
