#include "store/batch.h"

#include <cassert>

#include "base/bytes.h"
#include "store/batch_format.h"

namespace fathom::store {

using namespace batch_format;

namespace batch_format {

ValueView read_value(ByteReader& in, const std::vector<std::string_view>& strings) {
  uint8_t type = in.u8();
  ValueView value;
  value.type = static_cast<ValueType>(type);
  switch (value.type) {
    case ValueType::kEmpty:
      return value;
    case ValueType::kBool:
      value.bits = in.u8() != 0;
      return value;
    case ValueType::kInt:
      value.bits = static_cast<uint64_t>(in.svarint());
      return value;
    case ValueType::kDouble:
      value.bits = in.u64();
      return value;
    case ValueType::kString:
    case ValueType::kBytes:
    case ValueType::kJson:
    case ValueType::kCut:
      value.text = read_string(in, strings);
      return value;
  }
  in.fail();
  return {};
}

}  // namespace batch_format

namespace {

// A count of things that each take at least one byte: more than there are bytes left is a lie.
size_t read_count(ByteReader& in) {
  uint64_t count = in.varint();
  return count > in.remaining() ? in.fail() : count;
}

void read_attributes(ByteReader& in, const std::vector<std::string_view>& strings, std::vector<AttributeView>& out) {
  for (size_t left = read_count(in); left > 0 && !in.failed(); --left) {
    std::string_view key = read_string(in, strings);
    out.push_back({key, read_value(in, strings)});
  }
}

// Attributes are gathered in one vector first and cut into spans when it no longer moves.
struct Slice {
  size_t begin;
  size_t count;
};

Slice read_slice(ByteReader& in, const std::vector<std::string_view>& strings, std::vector<AttributeView>& out) {
  size_t begin = out.size();
  read_attributes(in, strings, out);
  return {begin, out.size() - begin};
}

std::span<const AttributeView> view(const std::vector<AttributeView>& all, Slice slice) {
  return {all.data() + slice.begin, slice.count};
}

// Reads a row's body; the spans' attribute slices are resolved at the end.
struct BodyReader {
  ByteReader& in;
  const std::vector<std::string_view>& strings;
  Batch::Scratch& scratch;
  std::vector<Slice> slices;

  void read(SpanView& span) {
    span.flags = in.varint32();
    span.trace_state = read_string(in, strings);
    span.status_message = read_string(in, strings);
    Slice own = read_slice(in, strings, scratch.attributes);
    span.dropped_attributes_count = in.varint32();
    span.dropped_events_count = in.varint32();
    span.dropped_links_count = in.varint32();
    read_events(span);
    read_links(span);
    resolve(span, own);
  }

  void read_events(const SpanView& span) {
    for (size_t left = read_count(in); left > 0 && !in.failed(); --left) {
      EventView event;
      event.time_unix_nano = span.start_unix_nano + static_cast<uint64_t>(in.svarint());
      event.name = read_string(in, strings);
      slices.push_back(read_slice(in, strings, scratch.attributes));
      event.dropped_attributes_count = in.varint32();
      scratch.events.push_back(event);
    }
  }

  void read_links(const SpanView&) {
    for (size_t left = read_count(in); left > 0 && !in.failed(); --left) {
      LinkView link;
      link.trace_id = read_id<TraceId>(in);
      link.span_id = read_id<SpanId>(in);
      link.trace_state = read_string(in, strings);
      link.flags = in.varint32();
      slices.push_back(read_slice(in, strings, scratch.attributes));
      link.dropped_attributes_count = in.varint32();
      scratch.links.push_back(link);
    }
  }

  void resolve(SpanView& span, Slice own) {
    size_t next = 0;
    for (EventView& event : scratch.events) event.attributes = view(scratch.attributes, slices[next++]);
    for (LinkView& link : scratch.links) link.attributes = view(scratch.attributes, slices[next++]);
    span.attributes = view(scratch.attributes, own);
    span.events = scratch.events;
    span.links = scratch.links;
  }
};

bool valid_span(const SpanView& span) {
  return span.kind <= SpanKind::kConsumer && span.status <= StatusCode::kError;
}

SpanView fixed_part(const Batch::Row& row, std::string_view name) {
  SpanView span;
  span.trace_id = row.trace_id;
  span.span_id = row.span_id;
  span.parent_span_id = row.parent_span_id;
  span.start_unix_nano = row.start_unix_nano;
  span.end_unix_nano = row.end_unix_nano;
  span.name = name;
  span.kind = row.kind;
  span.status = row.status;
  return span;
}

Batch::Row read_row(ByteReader& in, const char* origin, size_t strings, size_t resources, size_t scopes) {
  Batch::Row row{};
  uint8_t first = in.u8();
  row.kind = static_cast<SpanKind>(first >> kKindShift & 7);
  row.status = static_cast<StatusCode>(first >> kStatusShift & 3);
  row.trace_id = read_id<TraceId>(in);
  row.span_id = read_id<SpanId>(in);
  if (first & kHasParent) row.parent_span_id = read_id<SpanId>(in);
  row.start_unix_nano = in.u64();
  row.end_unix_nano = row.start_unix_nano + static_cast<uint64_t>(in.svarint());
  row.name = read_index(in, strings);
  row.resource = read_index(in, resources);
  row.scope = read_index(in, scopes);
  row.body_size = in.u32();
  row.body_offset = static_cast<uint32_t>(in.position() - origin);
  in.raw(row.body_size);
  return row;
}

// Mixes one more 64-bit word into a hash.
uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9fb21c651e98df25ULL;
  return hash ^ (hash >> 32);
}

uint64_t hash_attributes(uint64_t hash, std::span<const AttributeView> attributes) {
  hash = mix(hash, attributes.size());
  for (const AttributeView& attribute : attributes) {
    hash = mix(hash, hash64(attribute.key));
    hash = mix(hash, static_cast<uint64_t>(attribute.value.type));
    hash = mix(hash, attribute.value.is_text() ? hash64(attribute.value.text) : attribute.value.bits);
  }
  return hash;
}

uint64_t content_hash(const ResourceView& resource) {
  uint64_t hash = mix(hash64(resource.schema_url), resource.dropped_attributes_count);
  return hash_attributes(hash, resource.attributes);
}

uint64_t content_hash(const ScopeView& scope) {
  uint64_t hash = mix(mix(hash64(scope.name), hash64(scope.version)), hash64(scope.schema_url));
  return hash_attributes(mix(hash, scope.dropped_attributes_count), scope.attributes);
}

uint64_t content_hash(const SpanView& span) {
  uint64_t hash = mix(hash64(span.trace_id.view()), hash64(span.span_id.view()));
  hash = mix(mix(hash, hash64(span.parent_span_id.view())), span.start_unix_nano);
  hash = mix(mix(hash, span.end_unix_nano), hash64(span.name));
  hash = mix(hash, static_cast<uint64_t>(span.kind) << 8 | static_cast<uint64_t>(span.status));
  hash = mix(mix(mix(hash, hash64(span.status_message)), hash64(span.trace_state)), span.flags);
  hash = mix(mix(hash, span.dropped_attributes_count), span.dropped_events_count);
  hash = hash_attributes(mix(hash, span.dropped_links_count), span.attributes);
  for (const EventView& event : span.events) {
    hash = mix(mix(hash, event.time_unix_nano), hash64(event.name));
    hash = hash_attributes(mix(hash, event.dropped_attributes_count), event.attributes);
  }
  for (const LinkView& link : span.links) {
    hash = mix(mix(hash, hash64(link.trace_id.view())), hash64(link.span_id.view()));
    hash = mix(mix(mix(hash, hash64(link.trace_state)), link.flags), link.dropped_attributes_count);
    hash = hash_attributes(hash, link.attributes);
  }
  return hash;
}

Error damaged() {
  return corrupt("a stored batch is damaged");
}

// Of a name that a sender chose; hashed once more, so that no sender can choose what another's content hashes to.
Hash128 name_hash(const Hash128& name) {
  std::string text = "a batch's given name";
  ByteWriter out(text);
  out.u64(name.high);
  out.u64(name.low);
  return hash128(text);
}

}  // namespace

uint64_t content_hash(const SpanView& span, const ResourceView& resource, const ScopeView& scope,
                      const std::optional<ClockOffset>& clock) {
  uint64_t hash = mix(mix(content_hash(span), content_hash(resource)), content_hash(scope));
  if (clock) hash = mix(mix(hash, static_cast<uint64_t>(clock->offset_nano)), clock->error_nano + 1);
  return hash;
}

Result<BatchPtr> Batch::parse(std::string encoded) {
  return load(std::move(encoded), Bodies::kChecked);
}

Result<BatchPtr> Batch::load(std::string encoded, Bodies bodies) {
  std::shared_ptr<Batch> batch(new Batch);
  batch->encoded_ = std::move(encoded);
  ByteReader in(batch->encoded_);
  if (Result<> head = batch->load_head(in); !head) return head.error();
  if (Result<> shared = batch->load_shared(in); !shared) return shared.error();
  if (Result<> rows = batch->load_rows(in, bodies); !rows) return rows.error();
  batch->identity_ = batch->given_identity_ ? name_hash(*batch->given_identity_) : hash128(batch->encoded_);
  return BatchPtr(std::move(batch));
}

Result<> Batch::load_head(ByteReader& in) {
  uint8_t version = in.u8();
  if (version != kVersion && version != kVersionWithIdentity) {
    return corrupt("a stored batch has version " + std::to_string(version));
  }
  uint8_t flags = in.u8();
  if (flags & kHasClock) {
    int64_t offset = in.svarint();
    clock_ = ClockOffset{offset, in.varint()};
  }
  if (((flags & kHasIdentity) != 0) != (version == kVersionWithIdentity)) return damaged();
  if (flags & kHasIdentity) {
    uint64_t high = in.u64();
    given_identity_ = Hash128{high, in.u64()};
  }
  return {};
}

// The strings, resources and scopes.
Result<> Batch::load_shared(ByteReader& in) {
  size_t string_count = read_count(in);
  strings_.reserve(string_count);
  for (size_t i = 0; i < string_count; ++i) strings_.push_back(in.string());
  if (in.failed() || strings_.empty()) return damaged();

  std::vector<Slice> slices;
  size_t resource_count = read_count(in);
  for (size_t i = 0; i < resource_count && !in.failed(); ++i) {
    slices.push_back(read_slice(in, strings_, shared_attributes_));
    ResourceView resource;
    resource.schema_url = read_string(in, strings_);
    resource.dropped_attributes_count = in.varint32();
    resources_.push_back(resource);
  }
  size_t scope_count = read_count(in);
  for (size_t i = 0; i < scope_count && !in.failed(); ++i) {
    slices.push_back(read_slice(in, strings_, shared_attributes_));
    ScopeView scope;
    scope.name = read_string(in, strings_);
    scope.version = read_string(in, strings_);
    scope.schema_url = read_string(in, strings_);
    scope.dropped_attributes_count = in.varint32();
    scopes_.push_back(scope);
  }
  if (in.failed()) return damaged();
  for (size_t i = 0; i < resources_.size(); ++i) resources_[i].attributes = view(shared_attributes_, slices[i]);
  for (size_t i = 0; i < scopes_.size(); ++i) {
    scopes_[i].attributes = view(shared_attributes_, slices[resources_.size() + i]);
  }
  return {};
}

Result<> Batch::load_rows(ByteReader& in, Bodies bodies) {
  size_t row_count = read_count(in);
  rows_.reserve(std::min(row_count, in.remaining() / 32));
  Scratch scratch;
  for (size_t i = 0; i < row_count; ++i) {
    Row row = read_row(in, encoded_.data(), strings_.size(), resources_.size(), scopes_.size());
    if (in.failed() || row.trace_id.is_zero() || row.span_id.is_zero()) return damaged();
    SpanView span = fixed_part(row, strings_[row.name]);
    if (!valid_span(span)) return damaged();
    if (bodies == Bodies::kChecked && !decode_body(row, span, scratch)) return damaged();
    rows_.push_back(row);
  }
  return in.at_end() && !in.failed() ? Result<>() : Result<>(damaged());
}

bool Batch::decode_body(const Row& row, SpanView& span, Scratch& scratch) const {
  scratch.attributes.clear();
  scratch.events.clear();
  scratch.links.clear();
  ByteReader in(std::string_view(encoded_).substr(row.body_offset, row.body_size));
  BodyReader body{in, strings_, scratch, {}};
  body.read(span);
  return in.at_end() && !in.failed();
}

SpanView Batch::span(const Row& row, Scratch& scratch) const {
  SpanView span = fixed_part(row, strings_[row.name]);
  [[maybe_unused]] bool decoded = decode_body(row, span, scratch);
  assert(decoded);
  return span;
}

uint64_t Batch::content_hash(const Row& row) const {
  Scratch scratch;
  return store::content_hash(span(row, scratch), resources_[row.resource], scopes_[row.scope], clock_);
}

size_t Batch::memory_bytes() const {
  return sizeof *this + encoded_.capacity() + rows_.capacity() * sizeof(Row) +
         strings_.capacity() * sizeof(std::string_view) + shared_attributes_.capacity() * sizeof(AttributeView);
}

namespace {

std::string_view string_attribute(const ResourceView& resource, std::string_view key) {
  for (const AttributeView& attribute : resource.attributes) {
    if (attribute.key == key && attribute.value.is_text()) return attribute.value.text;
  }
  return {};
}

}  // namespace

std::string_view service_name(const ResourceView& resource) {
  std::string_view name = string_attribute(resource, "service.name");
  return name.empty() ? "unknown_service" : name;
}

std::string_view service_namespace(const ResourceView& resource) {
  return string_attribute(resource, "service.namespace");
}

}  // namespace fathom::store
