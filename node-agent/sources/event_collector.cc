#include "node-agent/sources/event_collector.h"

#include <bit>
#include <cstring>

#include "base/hash.h"
#include "node-agent/detail/payload.h"

namespace fathom::agent {

namespace {

static_assert(sizeof(capture::SpanRef) == sizeof(pool::SpanRef), "both are a trace id and a span id");

capture::FieldType type_of(pool::FieldType type) {
  if (type <= pool::FieldType::kInt64) return capture::FieldType::kInteger;
  if (type <= pool::FieldType::kUint64) return capture::FieldType::kNatural;
  if (type <= pool::FieldType::kDouble) return capture::FieldType::kReal;
  if (type == pool::FieldType::kBool) return capture::FieldType::kTruth;
  return type == pool::FieldType::kString ? capture::FieldType::kText : capture::FieldType::kBytes;
}

capture::Tracepoint described(const Tracepoint& tracepoint) {
  capture::Tracepoint out{tracepoint.name, tracepoint.file, tracepoint.line, {}};
  for (const TracepointField& field : tracepoint.fields) out.fields.push_back({field.key, type_of(field.type)});
  return out;
}

std::string_view bytes_of(std::span<const pool::SpanRef> spans) {
  return {reinterpret_cast<const char*>(spans.data()), spans.size_bytes()};
}
std::string_view bytes_of(const std::vector<capture::SpanRef>& spans) {
  return {reinterpret_cast<const char*>(spans.data()), spans.size() * sizeof(capture::SpanRef)};
}

}  // namespace

inline std::optional<uint32_t> EventCollector::node_tid_of(uint32_t tid) {
  return tid == last_tid_ ? last_node_tid_ : find_thread(tid);
}

std::optional<uint32_t> EventCollector::find_thread(uint32_t tid) {
  last_tid_ = tid;
  const capture::Thread* thread = threads_.of_program(tid);
  return last_node_tid_ = thread == nullptr ? std::optional<uint32_t>() : thread->tid;
}

inline uint32_t EventCollector::tracepoint_of(const Tracepoint& tracepoint) {
  return &tracepoint == last_tracepoint_ ? last_place_ : find_tracepoint(tracepoint);
}

size_t EventCollector::index_of(const Tracepoint& tracepoint) const {
  return static_cast<size_t>(&tracepoint - snapshot_->table.all().data());
}

uint32_t EventCollector::find_tracepoint(const Tracepoint& tracepoint) {
  uint32_t& place = tracepoints_[index_of(tracepoint)];
  if (place == 0) {
    capture_.tracepoints.push_back(described(tracepoint));
    place = static_cast<uint32_t>(capture_.tracepoints.size());
  }
  last_tracepoint_ = &tracepoint;
  return last_place_ = place - 1;
}

inline uint32_t EventCollector::spans_of(std::span<const pool::SpanRef> spans) {
  // Of most threads one, which is compared without a call.
  constexpr size_t kOne = sizeof(pool::SpanRef);
  if (spans.size() == 1 && last_spans_.size() == kOne && std::memcmp(spans.data(), last_spans_.data(), kOne) == 0)
    return last_set_;
  return find_set(spans);
}

uint32_t EventCollector::find_set(std::span<const pool::SpanRef> spans) {
  std::string_view bytes = bytes_of(spans);
  if (bytes == last_spans_) return last_set_;
  last_spans_ = bytes;
  if (bytes.empty()) return last_set_ = 0;
  uint64_t hash = hash64(bytes);
  auto found = sets_.find(hash);
  bool is_known = found != sets_.end() && bytes_of(capture_.span_sets[found->second]) == bytes;
  return last_set_ = is_known ? found->second : new_set(hash, spans);
}

DecodeCounts EventCollector::collect(const DetailSnapshot& snapshot) {
  snapshot_ = &snapshot;
  last_tracepoint_ = nullptr;
  tracepoints_.assign(snapshot.table.all().size(), 0);
  redacted_.assign(snapshot.table.all().size(), {});
  return walk_events(
      snapshot, [this](const DetailRecord& event, const Tracepoint& tracepoint) { return add(event, tracepoint); });
}

// An event that is not taken is not looked into either.
inline bool EventCollector::add(const DetailRecord& event, const Tracepoint& tracepoint) {
  uint64_t nano = times_.monotonic_nano(snapshot_->shape.clock, event.ticks);
  if (nano < capture_.begin_nano || nano > capture_.end_nano) return true;
  std::optional<uint32_t> tid = node_tid_of(event.tid);
  if (!tid) return ++events_without_thread_, true;
  uint32_t spans = spans_of(event.spans);
  if (spans == kNoSet) ++events_without_spans_;
  if (redactor_ && is_redacted(tracepoint)) {
    return add_redacted(event, tracepoint, *tid,
                        {.monotonic_nano = nano,
                         .spans = spans == kNoSet ? 0 : spans,
                         .spans_certain = event.spans_certain && spans != kNoSet});
  }
  capture::EventColumns& columns = encoder_.events_of(*tid);
  capture::EventValues values = columns.values(tracepoint.fields.size());
  const bool fits = read_payload(tracepoint, event.payload, event.long_form, values);
  columns.add({.monotonic_nano = nano,
               .tracepoint = tracepoint_of(tracepoint),
               .spans = spans == kNoSet ? 0 : spans,
               .spans_certain = event.spans_certain && spans != kNoSet},
              tracepoint.fields.size(), values);
  return fits;
}

bool EventCollector::is_redacted(const Tracepoint& tracepoint) {
  std::optional<bool>& known = redacted_[index_of(tracepoint)].is_redacted;
  if (!known) known = redactor_->may_change(tracepoint);
  return *known;
}

bool EventCollector::add_redacted(const DetailRecord& event, const Tracepoint& tracepoint, uint32_t tid,
                                  capture::Event to_add) {
  const bool fits = decode_payload(tracepoint, event.payload, event.long_form, values_);
  redactor_->redact(values_);
  to_add.tracepoint = redacted_place(tracepoint);
  const size_t fields = capture_.tracepoints[to_add.tracepoint].fields.size();
  capture::EventColumns& columns = encoder_.events_of(tid);
  capture::EventValues values = columns.values(fields);
  redactor_->write(values);
  columns.add(to_add, fields, values);
  return fits;
}

uint32_t EventCollector::redacted_place(const Tracepoint& tracepoint) {
  RedactedPlaces& places = redacted_[index_of(tracepoint)];
  uint32_t& place = redactor_->needs_texts() ? places.with_texts : places.usual;
  if (place == 0) {
    capture_.tracepoints.push_back(redactor_->described(described(tracepoint), redactor_->needs_texts()));
    place = static_cast<uint32_t>(capture_.tracepoints.size());
  }
  return place - 1;
}

// A set whose hash is another's is there again each time it comes back: that is no harm.
uint32_t EventCollector::new_set(uint64_t hash, std::span<const pool::SpanRef> spans) {
  if (spans.size() > spans_left_) return kNoSet;
  spans_left_ -= spans.size();
  std::vector<capture::SpanRef> set(spans.size());
  for (size_t i = 0; i < set.size(); ++i) set[i] = std::bit_cast<capture::SpanRef>(spans[i]);
  capture_.span_sets.push_back(std::move(set));
  uint32_t index = static_cast<uint32_t>(capture_.span_sets.size() - 1);
  sets_.emplace(hash, index);
  return index;
}

}  // namespace fathom::agent
