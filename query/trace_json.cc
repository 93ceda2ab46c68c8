// The document of a trace: its spans with everything they said, resources and scopes once each.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "net/json_writer.h"
#include "query/captures.h"
#include "query/instant_json.h"
#include "query/lost_batches.h"
#include "query/queries.h"
#include "query/snapshots/snapshot_queries.h"
#include "query/stepped.h"
#include "query/value_json.h"

namespace fathom::query {

namespace {

using net::JsonWriter;
using store::StoredSpan;
using store::StoredTrace;

// Texts that many spans share, numbered in the order in which they first come.
class SharedTexts {
 public:
  size_t number_of(std::string text) {
    auto [found, fresh] = numbers_.try_emplace(std::move(text), texts_.size());
    if (fresh) texts_.push_back(&found->first);
    return found->second;
  }
  void write(JsonWriter& json) const {
    json.begin_array();
    for (const std::string* text : texts_) json.raw(*text);
    json.end_array();
  }

 private:
  std::unordered_map<std::string, size_t> numbers_;
  std::vector<const std::string*> texts_;
};

void member_if(JsonWriter& json, std::string_view name, uint64_t number) {
  if (number > 0) json.member(name, number);
}
void member_if(JsonWriter& json, std::string_view name, std::string_view text) {
  if (!text.empty()) json.member(name, text);
}

std::string resource_text(const StoredSpan& stored) {
  std::string text;
  JsonWriter json(text);
  json.begin_object().member("service", stored.service);
  member_if(json, "service_namespace", stored.service_namespace);
  write_attributes(json.key("attributes"), stored.resource.attributes);
  write_cut_keys(json, stored.resource.attributes);
  member_if(json, "schema_url", stored.resource.schema_url);
  member_if(json, "dropped_attributes_count", stored.resource.dropped_attributes_count);
  json.end_object();
  return text;
}

std::string scope_text(const store::ScopeView& scope) {
  std::string text;
  JsonWriter json(text);
  json.begin_object().member("name", scope.name).member("version", scope.version);
  write_attributes(json.key("attributes"), scope.attributes);
  write_cut_keys(json, scope.attributes);
  member_if(json, "schema_url", scope.schema_url);
  member_if(json, "dropped_attributes_count", scope.dropped_attributes_count);
  json.end_object();
  return text;
}

void write_event(JsonWriter& json, const store::EventView& event) {
  json.begin_object().member("name", event.name);
  write_instant(json, "time_unix_nano", event.time_unix_nano);
  write_attributes(json.key("attributes"), event.attributes);
  write_cut_keys(json, event.attributes);
  member_if(json, "dropped_attributes_count", event.dropped_attributes_count);
  json.end_object();
}

void write_link(JsonWriter& json, const store::LinkView& link) {
  json.begin_object().member("trace_id", std::string_view(link.trace_id.hex()));
  json.member("span_id", std::string_view(link.span_id.hex()));
  member_if(json, "trace_state", link.trace_state);
  member_if(json, "flags", link.flags);
  write_attributes(json.key("attributes"), link.attributes);
  write_cut_keys(json, link.attributes);
  member_if(json, "dropped_attributes_count", link.dropped_attributes_count);
  json.end_object();
}

void write_clock(JsonWriter& json, const StoredSpan& stored) {
  if (!stored.clock) return;
  write_instant(json, "corrected_start_time_unix_nano", corrected_start_unix_nano(stored));
  json.key("clock").begin_object();
  json.member("offset_nano", stored.clock->offset_nano).member("error_nano", stored.clock->error_nano);
  json.end_object();
}

void write_identity(JsonWriter& json, const StoredSpan& stored) {
  const store::SpanView& span = stored.span;
  json.member("span_id", std::string_view(span.span_id.hex()));
  json.member("parent_span_id", std::string_view(span.parent_span_id.is_zero() ? "" : span.parent_span_id.hex()));
  json.member("service", stored.service).member("operation", stored.operation);
  if (stored.operation != span.name) json.member("name", span.name);
  json.member("kind", store::span_kind_name(span.kind));
  write_instant(json, "start_time_unix_nano", span.start_unix_nano);
  json.member("duration_nano", span.duration_nano());
  write_clock(json, stored);
  json.member("status", store::status_code_name(span.status));
  member_if(json, "status_message", span.status_message);
}

void write_extras(JsonWriter& json, const StoredSpan& stored) {
  const store::SpanView& span = stored.span;
  member_if(json, "trace_state", span.trace_state);
  member_if(json, "flags", span.flags);
  member_if(json, "dropped_attributes_count", span.dropped_attributes_count);
  member_if(json, "dropped_events_count", span.dropped_events_count);
  member_if(json, "dropped_links_count", span.dropped_links_count);
  if (stored.conflicting) json.member("conflicting", true);
}

class TraceDocument {
 public:
  TraceDocument(const Stores& stores, const StoredTrace& trace, const std::vector<store::StoredCapture>& captures)
      : stores_(stores), trace_(trace), captures_(captures) {}

  Result<std::string> write(store::QueryBudget& budget) {
    json_.begin_object().member("trace_id", std::string_view(trace_.trace_id.hex()));
    write_instant(json_, "start_time_unix_nano", trace_.start_unix_nano);
    json_.member("duration_nano", trace_.duration_nano).member("complete", trace_.complete);
    json_.key("spans").begin_array();
    for (const StoredSpan& stored : trace_.spans) {
      size_t before = out_.size();
      write_span(stored);
      if (auto paid = budget.spend(out_.size() - before); !paid) return paid.error();
    }
    json_.end_array();
    resources_.write(json_.key("resources"));
    scopes_.write(json_.key("scopes"));
    json_.key("captures").begin_array();
    for (const store::StoredCapture& capture : captures_) {
      write_capture(json_.begin_object(), capture);
      json_.end_object();
    }
    json_.end_array();
    write_snapshots(json_, snapshots_of(stores_, trace_.trace_id));
    const store::TimeRange range{trace_.start_unix_nano, store::end_of(trace_.start_unix_nano, trace_.duration_nano)};
    auto stepped = SteppedFinder(stores_, range).of_trace(trace_, budget);
    if (!stepped) return stepped.error();
    write_stepped(json_, *stepped);
    write_lost_batches(json_, lost_batches(stores_.spans, range));
    json_.end_object();
    out_ += "\n";
    return std::move(out_);
  }

 private:
  void write_span(const StoredSpan& stored) {
    json_.begin_object();
    write_identity(json_, stored);
    write_attributes(json_.key("attributes"), stored.span.attributes);
    write_cut_keys(json_, stored.span.attributes);
    json_.key("events").begin_array();
    for (const auto& event : stored.span.events) write_event(json_, event);
    json_.end_array().key("links").begin_array();
    for (const auto& link : stored.span.links) write_link(json_, link);
    json_.end_array();
    write_extras(json_, stored);
    json_.member("resource", resources_.number_of(resource_text(stored)));
    json_.member("scope", scopes_.number_of(scope_text(stored.scope)));
    json_.end_object();
  }

  const Stores& stores_;
  const StoredTrace& trace_;
  const std::vector<store::StoredCapture>& captures_;
  std::string out_;
  JsonWriter json_{out_};
  SharedTexts resources_;
  SharedTexts scopes_;
};

// Of a trace whose spans are all still open, or lost: what its captures say of it.
StoredTrace without_spans(const TraceId& id, const std::vector<store::StoredCapture>& captures) {
  StoredTrace trace{.trace_id = id, .start_unix_nano = UINT64_MAX};
  uint64_t end = 0;
  for (const auto& capture : captures) {
    trace.start_unix_nano = std::min(trace.start_unix_nano, capture.info.start_unix_nano);
    end = std::max(end, capture.info.end_unix_nano);
  }
  trace.duration_nano = end - trace.start_unix_nano;
  return trace;
}

}  // namespace

Result<std::string> run_trace(const Stores& stores, const TraceId& trace_id, store::QueryBudget& budget) {
  auto captures = captures_of(stores, trace_id, budget);
  if (!captures) return captures.error();
  auto trace = stores.spans.trace(trace_id, budget);
  if (trace) return TraceDocument(stores, *trace, *captures).write(budget);
  if (trace.error().code != ErrorCode::kNotFound) return trace.error();
  if (!captures->empty()) return TraceDocument(stores, without_spans(trace_id, *captures), *captures).write(budget);
  const char* lost = stores.spans.losses().empty() ? "" : ", or among the lost batches that /api/v1/status reports";
  return not_found("no span of trace " + trace_id.hex() + " is stored; it may be older than the retention" + lost);
}

}  // namespace fathom::query
