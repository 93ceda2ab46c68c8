#include <algorithm>
#include <cassert>

#include "base/bytes.h"
#include "base/utf8.h"
#include "store/batch.h"
#include "store/batch_format.h"
#include "store/limited_parts.h"

namespace fathom::store {

namespace {

using namespace batch_format;

// Every string of a batch, each once, numbered in order of first use; number 0 is the empty string.
class StringTable {
 public:
  StringTable() { clear(); }

  uint32_t intern(std::string_view text) {
    if (text.empty()) return 0;
    uint64_t hash = hash64(text);
    size_t mask = slots_.size() - 1;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
      uint32_t index = slots_[at];
      if (index == 0) return insert(at, hash, text);
      if (entries_[index].hash == hash && is(index, text)) return index;
    }
  }
  bool is(uint32_t index, std::string_view text) const {
    const Entry& entry = entries_[index];
    return entry.size == text.size() && std::memcmp(text_.data() + entry.begin, text.data(), text.size()) == 0;
  }
  size_t size() const { return entries_.size(); }
  size_t bytes() const { return text_.size(); }
  std::string_view view(size_t index) const { return {text_.data() + entries_[index].begin, entries_[index].size}; }
  void clear() {
    slots_.assign(1024, 0);
    entries_.assign(1, {});
    text_.clear();
  }

 private:
  struct Entry {
    uint64_t hash = 0;
    uint32_t begin = 0;  // in text_
    uint32_t size = 0;
  };

  uint32_t insert(size_t at, uint64_t hash, std::string_view text) {
    uint32_t index = static_cast<uint32_t>(entries_.size());
    slots_[at] = index;
    entries_.push_back({hash, static_cast<uint32_t>(text_.size()), static_cast<uint32_t>(text.size())});
    text_.append(text);
    if (entries_.size() * 2 > slots_.size()) grow();
    return index;
  }
  void grow() {
    slots_.assign(slots_.size() * 2, 0);
    size_t mask = slots_.size() - 1;
    for (uint32_t index = 1; index < entries_.size(); ++index) {
      size_t at = entries_[index].hash & mask;
      while (slots_[at] != 0) at = (at + 1) & mask;
      slots_[at] = index;
    }
  }

  std::vector<uint32_t> slots_;
  std::vector<Entry> entries_;
  std::string text_;
};

// The sum as far as 32 bits hold it: a sender may claim any count.
uint32_t saturated(uint32_t a, uint64_t b) {
  return static_cast<uint32_t>(std::min<uint64_t>(a + b, UINT32_MAX));
}

// The first batch of a request has its name, the others one that follows from it.
Hash128 numbered(const Hash128& name, uint64_t number) {
  if (number == 0) return name;
  std::string text;
  ByteWriter out(text);
  out.u64(name.high);
  out.u64(name.low);
  out.u64(number);
  return hash128(text);
}

void count_limited(const char* limit, uint64_t n) {
  if (n != 0) limited_parts(limit).add(n);
}

}  // namespace

namespace batch_format {

void write_value(ByteWriter& out, const ValueView& value, uint32_t text) {
  out.u8(static_cast<uint8_t>(value.type));
  switch (value.type) {
    case ValueType::kEmpty:
      return;
    case ValueType::kBool:
      return out.u8(value.as_bool());
    case ValueType::kInt:
      return out.svarint(value.as_int());
    case ValueType::kDouble:
      return out.u64(value.bits);
    default:
      return out.varint(text);
  }
}

}  // namespace batch_format

struct BatchBuilder::Impl {
  BatchLimits limits;
  std::optional<ClockOffset> clock;
  std::optional<Hash128> identity;
  uint64_t finished = 0;  // batches so far
  LimitCounts counts;
  LimitCounts reported;

  StringTable strings;
  std::string resources, scopes, rows;
  uint32_t resource_count = 0, scope_count = 0, row_count = 0;

  uint32_t name(std::string_view text) {
    if (text.size() > limits.bytes_per_name) {
      ++counts.names_cut;
      text = whole_characters(text, limits.bytes_per_name);
    }
    return strings.intern(text);
  }

  void value(ByteWriter& out, ValueView value) {
    if (value.is_text() && value.text.size() > limits.bytes_per_value) {
      ++counts.values_cut;
      // Bytes are cut anywhere and stay bytes to whoever reads them; text and JSON become cut text.
      value.text = whole_characters(value.text, limits.bytes_per_value);
      value.type = ValueType::kCut;
    }
    write_value(out, value, value.is_text() ? strings.intern(value.text) : 0);
  }

  // Writes what the limit lets through and returns how many attributes it did not.
  uint32_t attributes(ByteWriter& out, std::span<const AttributeView> list) {
    size_t kept = std::min<size_t>(list.size(), limits.attributes_per_span);
    counts.attributes_dropped += list.size() - kept;
    out.varint(kept);
    for (const AttributeView& attribute : list.first(kept)) {
      out.varint(name(attribute.key));
      value(out, attribute.value);
    }
    return static_cast<uint32_t>(list.size() - kept);
  }

  void events(ByteWriter& out, const SpanView& span, size_t kept) {
    out.varint(kept);
    for (const EventView& event : span.events.first(kept)) {
      out.svarint(static_cast<int64_t>(event.time_unix_nano - span.start_unix_nano));
      out.varint(name(event.name));
      uint32_t dropped = attributes(out, event.attributes);
      out.varint(saturated(event.dropped_attributes_count, dropped));
    }
  }

  void links(ByteWriter& out, const SpanView& span, size_t kept) {
    out.varint(kept);
    for (const LinkView& link : span.links.first(kept)) {
      out.raw(link.trace_id.view());
      out.raw(link.span_id.view());
      out.varint(name(link.trace_state));
      out.varint(link.flags);
      uint32_t dropped = attributes(out, link.attributes);
      out.varint(saturated(link.dropped_attributes_count, dropped));
    }
  }

  void body(ByteWriter& out, const SpanView& span) {
    size_t events_kept = std::min<size_t>(span.events.size(), limits.events_per_span);
    size_t links_kept = std::min<size_t>(span.links.size(), limits.links_per_span);
    counts.events_dropped += span.events.size() - events_kept;
    counts.links_dropped += span.links.size() - links_kept;
    out.varint(span.flags);
    out.varint(name(span.trace_state));
    out.varint(name(span.status_message));
    uint32_t dropped = attributes(out, span.attributes);
    out.varint(saturated(span.dropped_attributes_count, dropped));
    out.varint(saturated(span.dropped_events_count, span.events.size() - events_kept));
    out.varint(saturated(span.dropped_links_count, span.links.size() - links_kept));
    events(out, span, events_kept);
    links(out, span, links_kept);
  }

  void header(ByteWriter& out) const {
    out.u8(identity ? kVersionWithIdentity : kVersion);
    out.u8(static_cast<uint8_t>((clock ? kHasClock : 0) | (identity ? kHasIdentity : 0)));
    if (clock) {
      out.svarint(clock->offset_nano);
      out.varint(clock->error_nano);
    }
    if (identity) {
      Hash128 name = numbered(*identity, finished);
      out.u64(name.high);
      out.u64(name.low);
    }
  }

  void report_limits() {
    count_limited("attributes_per_span", counts.attributes_dropped - reported.attributes_dropped);
    count_limited("bytes_per_value", counts.values_cut - reported.values_cut);
    count_limited("bytes_per_name", counts.names_cut - reported.names_cut);
    count_limited("events_per_span", counts.events_dropped - reported.events_dropped);
    count_limited("links_per_span", counts.links_dropped - reported.links_dropped);
    reported = counts;
  }

  std::string assemble() const {
    std::string encoded;
    encoded.reserve(bytes());
    ByteWriter out(encoded);
    header(out);
    out.varint(strings.size());
    for (size_t i = 0; i < strings.size(); ++i) out.string(strings.view(i));
    out.varint(resource_count);
    out.raw(resources);
    out.varint(scope_count);
    out.raw(scopes);
    out.varint(row_count);
    out.raw(rows);
    return encoded;
  }

  size_t bytes() const {
    return strings.bytes() + strings.size() * 2 + resources.size() + scopes.size() + rows.size() + 64;
  }

  // Owned copies of the current resource and scope, to be written again after finish().
  std::vector<AttributeView> resource_attributes, scope_attributes;
  ResourceView resource;
  ScopeView scope;
  std::string resource_text, scope_text;
  bool resource_pending = true, scope_pending = true;

  void flush_shared() {
    if (resource_pending) {
      ByteWriter out(resources);
      uint32_t dropped = attributes(out, resource.attributes);
      out.varint(name(resource.schema_url));
      out.varint(saturated(resource.dropped_attributes_count, dropped));
      ++resource_count;
      resource_pending = false;
    }
    if (scope_pending) {
      ByteWriter out(scopes);
      uint32_t dropped = attributes(out, scope.attributes);
      out.varint(name(scope.name));
      out.varint(name(scope.version));
      out.varint(name(scope.schema_url));
      out.varint(saturated(scope.dropped_attributes_count, dropped));
      ++scope_count;
      scope_pending = false;
    }
  }
};

namespace {

// A string for keep() that holds `bytes` without moving: beyond the inline buffer, so that a swap keeps the address
// too.
std::string reserved(size_t bytes) {
  std::string text;
  text.reserve(bytes + 64);
  return text;
}

// Copies what a view shows into `text`, which must have been reserved to hold it.
std::string_view keep(std::string& text, std::string_view view) {
  size_t at = text.size();
  text.append(view);
  return std::string_view(text).substr(at);
}

size_t text_bytes(std::span<const AttributeView> attributes) {
  size_t total = 0;
  for (const AttributeView& attribute : attributes) total += attribute.key.size() + attribute.value.text.size();
  return total;
}

std::vector<AttributeView> keep(std::string& text, std::span<const AttributeView> attributes) {
  std::vector<AttributeView> copy(attributes.begin(), attributes.end());
  for (AttributeView& attribute : copy) {
    attribute.key = keep(text, attribute.key);
    attribute.value.text = keep(text, attribute.value.text);
  }
  return copy;
}

}  // namespace

BatchBuilder::BatchBuilder(const BatchLimits& limits, std::optional<ClockOffset> clock, std::optional<Hash128> identity)
    : impl_(std::make_unique<Impl>()) {
  impl_->limits = limits;
  impl_->clock = clock;
  impl_->identity = identity;
}

BatchBuilder::~BatchBuilder() {
  impl_->report_limits();
}

void BatchBuilder::set_resource(const ResourceView& resource) {
  std::string text = reserved(text_bytes(resource.attributes) + resource.schema_url.size());
  impl_->resource_attributes = keep(text, resource.attributes);
  impl_->resource = resource;
  impl_->resource.schema_url = keep(text, resource.schema_url);
  impl_->resource.attributes = impl_->resource_attributes;
  impl_->resource_text.swap(text);
  impl_->resource_pending = true;
}

void BatchBuilder::set_scope(const ScopeView& scope) {
  std::string text =
      reserved(text_bytes(scope.attributes) + scope.name.size() + scope.version.size() + scope.schema_url.size());
  impl_->scope_attributes = keep(text, scope.attributes);
  impl_->scope = scope;
  impl_->scope.name = keep(text, scope.name);
  impl_->scope.version = keep(text, scope.version);
  impl_->scope.schema_url = keep(text, scope.schema_url);
  impl_->scope.attributes = impl_->scope_attributes;
  impl_->scope_text.swap(text);
  impl_->scope_pending = true;
}

void BatchBuilder::add(const SpanView& span) {
  assert(!span.trace_id.is_zero() && !span.span_id.is_zero());
  Impl& impl = *impl_;
  impl.flush_shared();
  ByteWriter out(impl.rows);
  bool has_parent = !span.parent_span_id.is_zero();
  out.u8(static_cast<uint8_t>((has_parent ? kHasParent : 0) | static_cast<int>(span.kind) << kKindShift |
                              static_cast<int>(span.status) << kStatusShift));
  out.raw(span.trace_id.view());
  out.raw(span.span_id.view());
  if (has_parent) out.raw(span.parent_span_id.view());
  out.u64(span.start_unix_nano);
  out.svarint(static_cast<int64_t>(span.end_unix_nano - span.start_unix_nano));
  out.varint(impl.name(span.name));
  out.varint(impl.resource_count - 1);
  out.varint(impl.scope_count - 1);
  // The body's size goes before it; four bytes are reserved and filled in afterwards.
  size_t size_at = impl.rows.size();
  out.u32(0);
  impl.body(out, span);
  uint32_t size = static_cast<uint32_t>(impl.rows.size() - size_at - 4);
  std::memcpy(impl.rows.data() + size_at, &size, 4);
  ++impl.row_count;
}

bool BatchBuilder::full() const {
  return impl_->row_count >= impl_->limits.spans_per_batch || impl_->bytes() >= impl_->limits.bytes_per_batch;
}

bool BatchBuilder::empty() const {
  return impl_->row_count == 0;
}

size_t BatchBuilder::bytes() const {
  return impl_->bytes();
}

const LimitCounts& BatchBuilder::limited() const {
  return impl_->counts;
}

BatchPtr BatchBuilder::finish() {
  Impl& impl = *impl_;
  Result<BatchPtr> batch = Batch::load(impl.assemble(), Batch::Bodies::kUnchecked);
  assert(batch.ok());
  ++impl.finished;
  impl.strings.clear();
  impl.resources.clear();
  impl.scopes.clear();
  impl.rows.clear();
  impl.resource_count = impl.scope_count = impl.row_count = 0;
  impl.resource_pending = impl.scope_pending = true;
  impl.report_limits();
  return std::move(batch).value();
}

}  // namespace fathom::store
