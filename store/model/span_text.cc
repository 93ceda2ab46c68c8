#include "store/model/span_text.h"

namespace fathom::store {

namespace {

class Text {
 public:
  Text& number(const char* name, uint64_t value) {
    out_ += std::string(" ") + name + "=" + std::to_string(value);
    return *this;
  }
  Text& string(const char* name, std::string_view value) {
    out_ += std::string(" ") + name + "=" + std::to_string(value.size()) + ":";
    out_ += value;
    return *this;
  }
  template <typename List, typename Write>
  Text& list(const char* name, const List& items, Write write) {
    out_ += std::string(" ") + name + "=" + std::to_string(items.size()) + "[";
    for (const auto& item : items) write(*this, item);
    out_ += " ]";
    return *this;
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

void write_attribute(Text& out, const AttributeView& attribute) {
  out.string("key", attribute.key).number("type", static_cast<uint64_t>(attribute.value.type));
  if (attribute.value.is_text()) {
    out.string("text", attribute.value.text);
  } else {
    out.number("bits", attribute.value.bits);
  }
}

void write_event(Text& out, const EventView& event) {
  out.number("time", event.time_unix_nano).string("name", event.name);
  out.list("attributes", event.attributes, write_attribute).number("dropped", event.dropped_attributes_count);
}

void write_link(Text& out, const LinkView& link) {
  out.string("trace", link.trace_id.hex()).string("span", link.span_id.hex()).string("state", link.trace_state);
  out.list("attributes", link.attributes, write_attribute).number("dropped", link.dropped_attributes_count);
  out.number("flags", link.flags);
}

void write_identity(Text& out, const SpanView& span) {
  out.string("trace", span.trace_id.hex()).string("span", span.span_id.hex());
  out.string("parent", span.parent_span_id.hex()).number("start", span.start_unix_nano);
  out.number("end", span.end_unix_nano).string("name", span.name);
}

void write_span(Text& out, const SpanView& span) {
  write_identity(out, span);
  out.number("kind", static_cast<uint64_t>(span.kind)).number("status", static_cast<uint64_t>(span.status));
  out.string("message", span.status_message).string("state", span.trace_state).number("flags", span.flags);
  out.list("attributes", span.attributes, write_attribute).list("events", span.events, write_event);
  out.list("links", span.links, write_link).number("dropped_attributes", span.dropped_attributes_count);
  out.number("dropped_events", span.dropped_events_count).number("dropped_links", span.dropped_links_count);
}

void write_resource(Text& out, const ResourceView& resource) {
  out.list("resource", resource.attributes, write_attribute).string("schema", resource.schema_url);
  out.number("dropped", resource.dropped_attributes_count);
}

void write_scope(Text& out, const ScopeView& scope) {
  out.string("scope", scope.name).string("version", scope.version);
  out.list("attributes", scope.attributes, write_attribute).string("schema", scope.schema_url);
  out.number("dropped", scope.dropped_attributes_count);
}

void write_content(Text& out, const StoredSpan& stored) {
  write_span(out, stored.span);
  write_resource(out, stored.resource);
  write_scope(out, stored.scope);
  if (!stored.clock) return;
  out.number("offset", static_cast<uint64_t>(stored.clock->offset_nano)).number("error", stored.clock->error_nano);
}

}  // namespace

std::string content_text(const StoredSpan& stored) {
  Text out;
  write_content(out, stored);
  return out.take();
}

std::string stored_text(const StoredSpan& stored) {
  Text out;
  write_content(out, stored);
  out.string("namespace", stored.service_namespace).string("service", stored.service);
  out.string("operation", stored.operation).number("conflicting", stored.conflicting);
  return out.take();
}

}  // namespace fathom::store
