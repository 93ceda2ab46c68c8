// The document of a trace: its spans with everything they said, resources and scopes once each.
#include "query/trace_text.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/process_attributes.h"
#include "net/json_writer.h"
#include "query/captures.h"
#include "query/instant_json.h"
#include "query/lost_batches.h"
#include "query/queries.h"
#include "query/read_trace.h"
#include "query/snapshots/snapshot_queries.h"
#include "query/stepped.h"
#include "query/trace_cursor.h"
#include "query/value_json.h"

namespace fathom::query {

namespace {

using net::JsonWriter;
using store::StoredSpan;
using store::StoredTrace;

// What many spans share, numbered in the order in which it first comes: each text is known by its hash, and by a span
// that has it. Spans that share a record in memory need no text to be recognized.
class SharedTexts {
 public:
  using Write = std::string (*)(const StoredSpan&);
  explicit SharedTexts(Write write) : write_(write) {}

  // `record`: where the span's record lies, hashed; equal records may lie in several places.
  size_t number_of(const StoredSpan& stored, const Hash128& record) {
    auto [known, is_new] = by_record_.try_emplace(record, 0);
    if (is_new) known->second = number_of_text(stored);
    return known->second;
  }
  size_t size() const { return examples_.size(); }
  std::string text(size_t number) const { return write_(*examples_[number]); }

 private:
  size_t number_of_text(const StoredSpan& stored) {
    const std::string own = write_(stored);
    auto [found, is_new] = by_text_.try_emplace(hash128(own), examples_.size());
    // Senders choose texts, and could choose two of one hash.
    if (!is_new && text(found->second) == own) return found->second;
    examples_.push_back(&stored);
    return examples_.size() - 1;
  }

  const Write write_;
  std::map<Hash128, size_t> by_record_;
  std::map<Hash128, size_t> by_text_;
  std::vector<const StoredSpan*> examples_;
};

// Beside the span itself: in four maps and lists, if each span had a resource and a scope of its own.
constexpr uint64_t kNumberingBytes = 384;

// Texts are the same when they begin at the same place: the trace keeps all of them where they are.
Hash128 place_of(std::initializer_list<std::string_view> texts, std::span<const store::AttributeView> attributes,
                 uint32_t dropped) {
  std::string place;
  ByteWriter out(place);
  for (std::string_view text : texts) {
    out.u64(reinterpret_cast<uintptr_t>(text.data()));
    out.u64(text.size());
  }
  out.u64(reinterpret_cast<uintptr_t>(attributes.data()));
  out.u64(attributes.size());
  out.u32(dropped);
  return hash128(place);
}

void member_if(JsonWriter& json, std::string_view name, uint64_t number) {
  if (number > 0) json.member(name, number);
}
void member_if(JsonWriter& json, std::string_view name, std::string_view text) {
  if (!text.empty()) json.member(name, text);
}

// Leaves out the agent's process id if the program's own `process.pid` is the same.
std::vector<store::AttributeView> shown_attributes(const store::ResourceView& resource) {
  std::vector<store::AttributeView> shown(resource.attributes.begin(), resource.attributes.end());
  const auto own = std::ranges::find(resource.attributes, std::string_view("process.pid"), &store::AttributeView::key);
  if (own == resource.attributes.end()) return shown;
  std::erase_if(shown, [&](const store::AttributeView& attribute) {
    return attribute.key == kProcessIdAttribute && attribute.value == own->value;
  });
  return shown;
}

std::string resource_text(const StoredSpan& stored) {
  std::string text;
  JsonWriter json(text);
  json.begin_object().member("service", stored.service);
  member_if(json, "service_namespace", stored.service_namespace);
  write_attributes(json.key("attributes"), shown_attributes(stored.resource));
  write_cut_keys(json, stored.resource.attributes);
  member_if(json, "schema_url", stored.resource.schema_url);
  member_if(json, "dropped_attributes_count", stored.resource.dropped_attributes_count);
  json.end_object();
  return text;
}

std::string scope_text(const StoredSpan& stored) {
  const store::ScopeView& scope = stored.scope;
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

// What tells a page from a whole trace.
void write_page(JsonWriter& json, const StoredTrace& trace) {
  json.member("oversized", true).member("spans_at_most", trace.spans_at_most);
  json.member("next_cursor", std::string_view(trace.next ? encode_trace_cursor(*trace.next, trace.trace_id) : ""));
}

// Where the page before `page` ended.
Result<std::optional<store::TraceCursor>> page_end(const TracePage& page, const TraceId& id) {
  if (page.cursor.empty()) return std::optional<store::TraceCursor>();
  auto cursor = decode_trace_cursor(page.cursor, id);
  if (!cursor) return cursor.error();
  return std::optional(*cursor);
}

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

// The end of the document: what is known of the trace beside its spans.
Result<std::string> tail_of(const Stores& stores, const StoredTrace& trace,
                            const std::vector<store::StoredCapture>& captures, store::QueryBudget& budget) {
  std::string tail;
  JsonWriter json(tail);
  json.begin_object().key("captures").begin_array();
  for (const store::StoredCapture& capture : captures) {
    const size_t before = tail.size();
    write_capture(json.begin_object(), capture);
    json.end_object();
    if (auto paid = budget.spend(2 * (tail.size() - before)); !paid) return paid.error();
  }
  json.end_array();
  write_snapshots(json, snapshots_of(stores, trace.trace_id));
  const store::TimeRange range{trace.start_unix_nano, store::end_of(trace.start_unix_nano, trace.duration_nano)};
  auto stepped = SteppedFinder(stores, range).of_trace(trace, budget);
  if (!stepped) return stepped.error();
  write_stepped(json, *stepped);
  write_lost_batches(json, lost_batches(stores.spans, range));
  json.end_object();
  return tail.substr(1) + "\n";  // it goes on in an object that is open
}

}  // namespace

// Where it stands is `part_`: of the span at hand its head, then each event, then each link.
struct TraceText::Impl {
  enum class Stage { kHead, kSpans, kResources, kScopes, kTail, kComplete };

  void write_some() {
    switch (stage_) {
      case Stage::kHead:
        write_head();
        return go_to(Stage::kSpans);
      case Stage::kSpans:
        return number_ < trace_.spans.size() ? write_part(trace_.spans[number_]) : end_list("resources");
      case Stage::kResources:
        return number_ < resources_.size() ? write_shared(resources_) : end_list("scopes");
      case Stage::kScopes:
        if (number_ < scopes_.size()) return write_shared(scopes_);
        json_.end_array();
        return go_to(Stage::kTail);
      case Stage::kTail:
        out_.append(",").append(std::exchange(tail_, {}));
        return go_to(Stage::kComplete);
      case Stage::kComplete:
        break;
    }
  }

  void go_to(Stage stage) {
    stage_ = stage;
    number_ = 0;
  }
  void end_list(std::string_view next) {
    json_.end_array().key(next).begin_array();
    go_to(stage_ == Stage::kSpans ? Stage::kResources : Stage::kScopes);
  }
  void write_shared(const SharedTexts& texts) { json_.raw(texts.text(number_++)); }

  void write_head() {
    json_.begin_object().member("trace_id", std::string_view(trace_.trace_id.hex()));
    write_instant(json_, "start_time_unix_nano", trace_.start_unix_nano);
    json_.member("duration_nano", trace_.duration_nano).member("complete", trace_.complete);
    if (trace_.oversized) write_page(json_, trace_);
    json_.key("spans").begin_array();
  }

  void write_part(const StoredSpan& stored) {
    const store::SpanView& span = stored.span;
    const size_t events = span.events.size(), links = span.links.size();
    if (part_ == 0) {
      begin_span(stored);
    } else if (part_ <= events) {
      write_event(json_, span.events[part_ - 1]);
    } else {
      write_link(json_, span.links[part_ - events - 1]);
    }
    if (part_ == events) json_.end_array().key("links").begin_array();
    if (part_++ < events + links) return;
    end_span(stored);
    part_ = 0;
    ++number_;
  }

  void begin_span(const StoredSpan& stored) {
    json_.begin_object();
    write_identity(json_, stored);
    write_attributes(json_.key("attributes"), stored.span.attributes);
    write_cut_keys(json_, stored.span.attributes);
    json_.key("events").begin_array();
  }

  void end_span(const StoredSpan& stored) {
    json_.end_array();
    write_extras(json_, stored);
    const store::ResourceView& resource = stored.resource;
    const store::ScopeView& scope = stored.scope;
    const Hash128 resource_place = place_of({stored.service, stored.service_namespace, resource.schema_url},
                                            resource.attributes, resource.dropped_attributes_count);
    const Hash128 scope_place =
        place_of({scope.name, scope.version, scope.schema_url}, scope.attributes, scope.dropped_attributes_count);
    json_.member("resource", resources_.number_of(stored, resource_place));
    json_.member("scope", scopes_.number_of(stored, scope_place));
    json_.end_object();
  }

  StoredTrace trace_;
  store::HeldMemory memory_;  // of what numbers resources and scopes
  uint64_t held_bytes_ = 0;   // of all
  std::string tail_;
  std::string out_;
  JsonWriter json_{out_};
  SharedTexts resources_{resource_text};
  SharedTexts scopes_{scope_text};
  Stage stage_ = Stage::kHead;
  size_t number_ = 0;  // of the span, resource or scope at hand
  size_t part_ = 0;
};

TraceText::TraceText(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceText::~TraceText() = default;

Result<std::unique_ptr<TraceText>> TraceText::open(const Stores& stores, const TraceId& trace_id,
                                                   store::QueryBudget& budget, const TracePage& page) {
  auto text = open_once(stores, trace_id, budget, page);
  const bool may_fit = page.cursor.empty() && page.may_be_whole;
  if (text || text.error().code != ErrorCode::kExhausted || !may_fit) return text;
  budget.restart();
  return open_once(stores, trace_id, budget, {page.limit, "", false});
}

Result<std::unique_ptr<TraceText>> TraceText::open_once(const Stores& stores, const TraceId& trace_id,
                                                        store::QueryBudget& budget, const TracePage& page) {
  auto after = page_end(page, trace_id);
  if (!after) return after.error();
  const uint64_t before = budget.held_bytes();
  auto trace = read_trace(stores.spans, trace_id, *after, page, budget);
  if (!trace && trace.error().code != ErrorCode::kNotFound) return trace.error();
  auto captures = captures_of(stores, trace_id, budget);
  if (!captures) return captures.error();
  if (!trace && captures->empty()) {
    const char* lost = stores.spans.losses().empty() ? "" : ", or among the lost batches that /api/v1/status reports";
    return not_found("no span of trace " + trace_id.hex() + " is stored; it may be older than the retention" + lost);
  }
  auto impl = std::make_unique<Impl>();
  impl->trace_ = trace ? *std::move(trace) : without_spans(trace_id, *captures);
  impl->memory_ = budget.hold();
  if (auto held = impl->memory_.grow(impl->trace_.spans.size() * kNumberingBytes); !held) return held.error();
  auto tail = tail_of(stores, impl->trace_, *captures, budget);
  if (!tail) return tail.error();
  impl->tail_ = *std::move(tail);
  impl->held_bytes_ = budget.held_bytes() - before + impl->tail_.size();
  return std::unique_ptr<TraceText>(new TraceText(std::move(impl)));
}

std::string TraceText::next(size_t enough) {
  while (impl_->out_.size() < enough && !is_complete()) impl_->write_some();
  return std::exchange(impl_->out_, {});
}

bool TraceText::is_complete() const {
  return impl_->stage_ == Impl::Stage::kComplete;
}

uint64_t TraceText::held_bytes() const {
  return impl_->held_bytes_;
}

namespace {

Result<std::string> document(const Stores& stores, const TraceId& trace_id, store::QueryBudget& budget,
                             const TracePage& page, uint64_t most_bytes) {
  constexpr size_t kPieceBytes = 64 * 1024;
  auto text = TraceText::open(stores, trace_id, budget, page);
  if (!text) return text.error();
  std::string whole;
  while (!(*text)->is_complete()) {
    const std::string piece = (*text)->next(kPieceBytes);
    const size_t size = whole.size() + piece.size();
    if (size > most_bytes) return exhausted("the answer has more than " + std::to_string(most_bytes) + " bytes");
    // A string that grows moves to a place of twice its size.
    const size_t more = size > whole.capacity() ? whole.size() + 2 * piece.size() : 0;
    if (auto paid = budget.spend(more); !paid) return paid.error();
    whole += piece;
  }
  // Who sends it pays for a message of the same size.
  if (budget.left_bytes() < whole.size()) return exhausted("the answer is larger than what is left of the byte budget");
  return whole;
}

}  // namespace

Result<std::string> run_trace(const Stores& stores, const TraceId& trace_id, store::QueryBudget& budget, TracePage page,
                              uint64_t most_bytes) {
  Result<std::string> whole = document(stores, trace_id, budget, page, most_bytes);
  if (whole || whole.error().code != ErrorCode::kExhausted || !page.cursor.empty()) return whole;
  budget.restart();
  page.may_be_whole = false;
  return document(stores, trace_id, budget, page, most_bytes);
}

}  // namespace fathom::query
