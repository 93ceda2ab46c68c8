// A batch: the spans of one request in the store's own encoding (docs/formats/batch.md), ready to be made durable.
//
// Purpose: BatchBuilder takes flat views one span at a time and encodes at once, so that a hostile request costs memory
// in proportion to its bytes; limits are applied here and counted. A Batch is immutable; its identity is a 128-bit hash
// of its encoded content, so that the same request decodes to the same identity however it was transported.
// Ownership: the builder copies what it is given; views into a Batch live as long as the Batch. Thread safety: a
// builder belongs to one thread; a Batch may be read by many. Errors: Batch::parse treats its input as hostile.
// A sender that names its batches (the agents do) overrides the content: the name it gave is then written into the
// encoding, and the identity is a hash of that, whatever the content.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/result.h"
#include "store/span.h"

namespace fathom::store {

struct BatchLimits {
  uint32_t attributes_per_span = 128;    // more are dropped: counted, and added to the span's dropped_attributes_count
  uint32_t bytes_per_value = 16 * 1024;  // longer strings are cut at a UTF-8 boundary and become ValueType::kCut
  uint32_t bytes_per_name = 1024;        // span names, keys, scope names, status messages are cut to this
  uint32_t events_per_span = 1024;
  uint32_t links_per_span = 1024;
  uint32_t spans_per_batch = 16 * 1024;  // the builder says full() and the caller begins another batch
  uint32_t bytes_per_batch = 8 * 1024 * 1024;
};

// What the limits did to a request; every field is also a counter in /metrics (fathom_limited_total{limit=...}).
struct LimitCounts {
  uint64_t attributes_dropped = 0;
  uint64_t values_cut = 0;
  uint64_t names_cut = 0;
  uint64_t events_dropped = 0;
  uint64_t links_dropped = 0;
};

class Batch {
 public:
  // Checks `encoded` from end to end; afterwards decoding a row cannot fail.
  static Result<std::shared_ptr<const Batch>> parse(std::string encoded);

  // A row's fixed part, read without decoding its attributes.
  struct Row {
    TraceId trace_id;
    SpanId span_id;
    SpanId parent_span_id;
    uint64_t start_unix_nano;
    uint64_t end_unix_nano;
    uint32_t name;      // index into strings()
    uint32_t resource;  // index into resource_count()
    uint32_t scope;
    SpanKind kind;
    StatusCode status;
    uint32_t body_offset;  // of the variable part, into encoded()
    uint32_t body_size;
  };

  const std::string& encoded() const { return encoded_; }
  Hash128 identity() const { return identity_; }
  const std::vector<Row>& rows() const { return rows_; }
  // Every string of the batch (keys, names, values), each once.
  const std::vector<std::string_view>& strings() const { return strings_; }
  const std::optional<ClockOffset>& clock() const { return clock_; }
  size_t memory_bytes() const;

  // Decodes into `scratch`-owned arrays; the view is valid until the scratch's next use.
  struct Scratch {
    std::vector<AttributeView> attributes;
    std::vector<EventView> events;
    std::vector<LinkView> links;
  };
  size_t resource_count() const { return resources_.size(); }
  size_t scope_count() const { return scopes_.size(); }
  const ResourceView& resource(size_t index) const { return resources_[index]; }
  const ScopeView& scope(size_t index) const { return scopes_[index]; }
  SpanView span(const Row& row, Scratch& scratch) const;
  // A hash of everything the row says, resource and scope included: equal for rows that are equal in every field.
  uint64_t content_hash(const Row& row) const;

 private:
  friend class BatchBuilder;
  // Whether the bodies of rows are decoded to check them. The builder has just encoded its own.
  enum class Bodies { kUnchecked, kChecked };

  Batch() = default;
  static Result<std::shared_ptr<const Batch>> load(std::string encoded, Bodies bodies);
  Result<> load_head(ByteReader& in);
  Result<> load_shared(ByteReader& in);
  Result<> load_rows(ByteReader& in, Bodies bodies);
  bool decode_body(const Row& row, SpanView& span, Scratch& scratch) const;

  std::string encoded_;
  std::optional<Hash128> given_identity_;
  Hash128 identity_;
  std::optional<ClockOffset> clock_;
  std::vector<std::string_view> strings_;
  std::vector<ResourceView> resources_;
  std::vector<ScopeView> scopes_;
  std::vector<AttributeView> shared_attributes_;  // of resources and scopes
  std::vector<Row> rows_;
};

using BatchPtr = std::shared_ptr<const Batch>;

class BatchBuilder {
 public:
  // `identity`, when the sender gave one, is that of all spans that will be added; the batches that the builder makes
  // of them are named by it and their number, so that the same request gives the same names again.
  explicit BatchBuilder(const BatchLimits& limits = {}, std::optional<ClockOffset> clock = std::nullopt,
                        std::optional<Hash128> identity = std::nullopt);
  ~BatchBuilder();

  // The spans that follow belong to this resource and scope.
  void set_resource(const ResourceView& resource);
  void set_scope(const ScopeView& scope);
  // The span's ids must not be zero; the caller has rejected such spans.
  void add(const SpanView& span);

  bool full() const;   // limits of one batch reached: finish() and go on
  bool empty() const;  // no spans yet
  size_t bytes() const;
  const LimitCounts& limited() const;

  // The batch so far; the builder is then empty, and keeps its resource, scope and limits.
  BatchPtr finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A hash of everything a span says, resource, scope and clock included: equal for rows that are equal in every field.
uint64_t content_hash(const SpanView& span, const ResourceView& resource, const ScopeView& scope,
                      const std::optional<ClockOffset>& clock);

// service.name and service.namespace of a resource; a resource without a name is "unknown_service".
std::string_view service_name(const ResourceView& resource);
std::string_view service_namespace(const ResourceView& resource);

}  // namespace fathom::store
