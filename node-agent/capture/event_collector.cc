#include "node-agent/capture/event_collector.h"

#include <bit>

#include "base/hash.h"
#include "base/large_pages.h"
#include "node-agent/capture/by_time.h"

namespace fathom::agent {

namespace {

constexpr size_t kWorthRoom = 64 * 1024;
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

capture::Value value_of(const FieldValue& value, capture::Thread& thread) {
  switch (type_of(value.field->type)) {
    case capture::FieldType::kInteger:
      return capture::Value::of_integer(value.integer);
    case capture::FieldType::kNatural:
      return capture::Value::of_natural(value.natural);
    case capture::FieldType::kReal:
      return capture::Value::of_real(value.real);
    case capture::FieldType::kTruth:
      return capture::Value::of_truth(value.natural != 0);
    case capture::FieldType::kText:
    case capture::FieldType::kBytes:
      break;
  }
  return thread.add_text(value.text, value.cut);
}

std::string_view bytes_of(std::span<const pool::SpanRef> spans) {
  return {reinterpret_cast<const char*>(spans.data()), spans.size_bytes()};
}
std::string_view bytes_of(const std::vector<capture::SpanRef>& spans) {
  return {reinterpret_cast<const char*>(spans.data()), spans.size() * sizeof(capture::SpanRef)};
}

bool is_earlier(const capture::Event& a, const capture::Event& b) {
  return a.monotonic_nano < b.monotonic_nano;
}

}  // namespace

// Memory that is never touched costs nothing; to make room again and again does. A record has 16 bytes at least, most
// have a value in eight, and no text is longer than its record.
void EventCollector::make_room() {
  std::unordered_map<uint32_t, size_t> bytes_of_thread;
  for (const ChunkCopy& chunk : snapshot_->chunks) bytes_of_thread[chunk.view.owner_tid] += chunk.view.bytes.size();
  for (auto [tid, bytes] : bytes_of_thread) {
    capture::Thread* thread = bytes < kWorthRoom ? nullptr : threads_.of_program(tid);
    if (thread == nullptr) continue;
    thread->events.reserve(thread->events.size() + bytes / pool::kLeastRecordBytes);
    thread->values.reserve(thread->values.size() + bytes / sizeof(capture::Value));
    thread->texts.reserve(thread->texts.size() + bytes);
    if (!thread->events.empty()) continue;
    prefer_large_pages(thread->events.data(), thread->events.capacity() * sizeof(capture::Event));
    prefer_large_pages(thread->values.data(), thread->values.capacity() * sizeof(capture::Value));
    prefer_large_pages(thread->texts.data(), thread->texts.capacity());
  }
}

DecodeCounts EventCollector::collect(const DetailSnapshot& snapshot) {
  snapshot_ = &snapshot;
  make_room();
  tracepoints_.assign(snapshot.table.all().size(), 0);
  DecodeCounts counts = decode(snapshot, [this](const EventView& event) { add(event); });
  for (capture::Thread& thread : threads_.all()) sort_by_time(thread.events, is_earlier);
  return counts;
}

void EventCollector::add(const EventView& event) {
  uint64_t nano = times_.monotonic_nano(snapshot_->shape.clock, event.ticks);
  if (nano < capture_.begin_nano || nano > capture_.end_nano) return;
  capture::Thread* thread = thread_of(event.tid);
  if (thread == nullptr) return void(++events_without_thread_);
  uint32_t spans = spans_of(event.spans);
  if (spans == kNoSet) ++events_without_spans_;
  thread->events.push_back({.monotonic_nano = nano,
                            .tracepoint = tracepoint_of(*event.tracepoint),
                            .spans = spans == kNoSet ? 0 : spans,
                            .first_value = static_cast<uint32_t>(thread->values.size()),
                            .values = static_cast<uint16_t>(event.values.size()),
                            .spans_certain = event.spans_certain && spans != kNoSet});
  for (const FieldValue& value : event.values) thread->values.push_back(value_of(value, *thread));
}

capture::Thread* EventCollector::thread_of(uint32_t tid) {
  if (last_thread_ == nullptr || tid != last_tid_) {
    last_thread_ = threads_.of_program(tid);
    last_tid_ = tid;
  }
  return last_thread_;
}

uint32_t EventCollector::tracepoint_of(const Tracepoint& tracepoint) {
  uint32_t& place = tracepoints_[static_cast<size_t>(&tracepoint - snapshot_->table.all().data())];
  if (place == 0) {
    capture_.tracepoints.push_back(described(tracepoint));
    place = static_cast<uint32_t>(capture_.tracepoints.size());
  }
  return place - 1;
}

uint32_t EventCollector::spans_of(std::span<const pool::SpanRef> spans) {
  std::string_view bytes = bytes_of(spans);
  if (bytes == last_spans_) return last_set_;
  last_spans_ = bytes;
  if (bytes.empty()) return last_set_ = 0;
  uint64_t hash = hash64(bytes);
  auto found = sets_.find(hash);
  bool is_known = found != sets_.end() && bytes_of(capture_.span_sets[found->second]) == bytes;
  return last_set_ = is_known ? found->second : new_set(hash, spans);
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
