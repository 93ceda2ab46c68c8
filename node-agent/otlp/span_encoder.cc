#include "node-agent/otlp/span_encoder.h"

#include <algorithm>
#include <cstring>

#include "base/span_threads.h"

namespace fathom::agent {

namespace {

// Field numbers of opentelemetry/proto/trace/v1, as proto/otlp/trace.proto has them.
constexpr uint32_t kAttributes = 9;
constexpr uint32_t kEvents = 11;
constexpr uint32_t kLinks = 13;

constexpr size_t kBufferBytes = 32 * 1024;  // half of a processor's nearest cache
static_assert(kBufferBytes > 2 * SpanEncoder::most_bytes(pool::kMostRecordBytes));
static_assert(SpanEncoder::most_bytes(pool::kMostRecordBytes) < 1 << 14, "a span's length has a place of two bytes");

// W3C's flags, and what OTLP says of the parent.
constexpr uint32_t kHasIsRemote = 0x100;
constexpr uint32_t kIsRemote = 0x200;

// OTLP's AnyValue cannot say that the end of a text is missing. This stands behind its string_value: a bool of our own
// (proto/otlp/common.proto), which others' readers pass over.
constexpr uint32_t kCut = 2000;
constexpr size_t kCutBytes = varint_bytes(kCut << 3) + 1;

constexpr size_t kLinkBytes = 16 + 8 + 1;
constexpr uint32_t kMostTid = 1 << 22;  // the kernel's PID_MAX_LIMIT; no thread has a greater number

template <size_t kSize>
bool is_zero(const uint8_t (&id)[kSize]) {
  constexpr uint8_t kZero[kSize]{};
  return std::memcmp(id, kZero, kSize) == 0;
}

uint32_t otlp_flags(uint8_t flags) {
  return (flags & uint32_t{0x7f}) | kHasIsRemote | ((flags & pool::kRemoteParent) != 0 ? kIsRemote : 0);
}

uint64_t load64(std::string_view bytes) {
  uint64_t value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Bytes of the AnyValue; 0 for a value that is none.
size_t value_bytes(const Item& item) {
  size_t size = item.value.size();
  if (item.type == pool::ItemType::kString) return 1 + varint_bytes(size) + size;
  if (item.type == pool::ItemType::kCut) return 1 + varint_bytes(size) + size + kCutBytes;
  if (item.type == pool::ItemType::kBool) return size == 1 ? 2 : 0;
  if (size != sizeof(uint64_t)) return 0;
  if (item.type == pool::ItemType::kInt) return 1 + varint_bytes(load64(item.value));
  return item.type == pool::ItemType::kDouble ? 9 : 0;
}

void write_value(WireWriter& writer, const Item& item) {
  if (item.type == pool::ItemType::kString) writer.bytes_field(1, item.value);
  if (item.type == pool::ItemType::kCut) writer.bytes_field(1, item.value).varint_field(kCut, 1);
  if (item.type == pool::ItemType::kBool) writer.varint_field(2, item.value[0] != 0 ? 1 : 0);
  if (item.type == pool::ItemType::kInt) writer.varint_field(3, load64(item.value));
  if (item.type == pool::ItemType::kDouble) writer.fixed64_field(4, load64(item.value));
}

}  // namespace

SpanEncoder::SpanEncoder(TickClock& clock, AgentLosses& losses, FinishedSpans* finished)
    : clock_(clock),
      losses_(losses),
      finished_(finished),
      without_thread_(counter("fathom_agent_unknown_threads_total",
                              "Thread attributes left out of spans because the agent does not know the thread's number "
                              "on this node.")),
      buffer_(std::make_unique<char[]>(kBufferBytes)),
      writer_(buffer_.get()) {}

void SpanEncoder::begin(pool::Clock ticks, std::string_view resource, size_t expected_bytes, NodeTid node_tid) {
  ticks_ = ticks;
  node_tid_ = std::move(node_tid);
  asked_tid_ = known_tid_ = 0;
  oldest_end_unix_nano_ = UINT64_MAX;
  out_ = {};
  out_.reserve(expected_bytes);
  writer_ = WireWriter(buffer_.get());
  resource_spans_begin_ = static_cast<size_t>(writer_.begin<WireWriter::kLongLengthBytes>(1) - buffer_.get());
  writer_.length(1, resource.size());
  flush();
  out_.append(resource);
  writer_.begin<WireWriter::kLongLengthBytes>(2);
  flush();
  scope_spans_begin_ = out_.size();
  writer_.length(1, 2 + 6);
  writer_.bytes_field(1, "fathom");
}

std::string SpanEncoder::finish() {
  flush();
  WireWriter::fill_in<WireWriter::kLongLengthBytes>(out_.data() + scope_spans_begin_, out_.size() - scope_spans_begin_);
  WireWriter::fill_in<WireWriter::kLongLengthBytes>(out_.data() + resource_spans_begin_,
                                                    out_.size() - resource_spans_begin_);
  return std::move(out_);
}

uint64_t SpanEncoder::oldest_age_nano() {
  uint64_t now = clock_.now_unix_nano();
  return now > oldest_end_unix_nano_ ? now - oldest_end_unix_nano_ : 0;
}

void SpanEncoder::flush() {
  out_.append(buffer_.get(), static_cast<size_t>(writer_.at() - buffer_.get()));
  writer_ = WireWriter(buffer_.get());
}

bool SpanEncoder::span(const SpanRecordView& span) {
  if (is_zero(span.head.trace_id) || is_zero(span.head.span_id)) return false;
  redactor_.has_rules() ? encode(redactor_.redacted(span)) : encode(span);
  return true;
}

void SpanEncoder::encode(const SpanRecordView& span) {
  size_t record_bytes = sizeof span.head + span.name.size() + span.items.size();
  auto room = static_cast<size_t>(buffer_.get() + kBufferBytes - writer_.at());
  if (room < most_bytes(record_bytes)) flush();
  char* began = writer_.begin(2);
  write(span);
  writer_.end(began);
  if (finished_ != nullptr) finished_->note(span, times_.start_ticks_nano, times_.end_ticks_nano);
}

void SpanEncoder::write(const SpanRecordView& span) {
  const pool::SpanRecord& head = span.head;
  writer_.id_field(1, head.trace_id);
  writer_.id_field(2, head.span_id);
  if (!is_zero(head.parent_span_id)) writer_.id_field(4, head.parent_span_id);
  writer_.bytes_field(5, span.name);
  if (head.kind >= 1 && head.kind <= 5) writer_.varint_field(6, head.kind);
  write_times(head);
  write_items(span);
  if (head.dropped_attributes != 0) writer_.varint_field(10, head.dropped_attributes);
  if (head.dropped_events != 0) writer_.varint_field(12, head.dropped_events);
  if (head.dropped_links != 0) writer_.varint_field(14, head.dropped_links);
  writer_.fixed32_field(16, otlp_flags(head.flags));
}

void SpanEncoder::write_times(const pool::SpanRecord& head) {
  times_ = {.start_ticks_nano = clock_.monotonic_nano(ticks_, head.start_ticks),
            .start_unix_nano = clock_.unix_nano(ticks_, head.start_ticks),
            .end_ticks_nano = clock_.monotonic_nano(ticks_, head.end_ticks)};
  // Two processors' counters may differ by a few ticks; no span ends before it begins.
  bool backwards = static_cast<int64_t>(times_.end_ticks_nano - times_.start_ticks_nano) < 0;
  if (backwards) times_.end_ticks_nano = times_.start_ticks_nano;
  uint64_t end_unix_nano = times_.start_unix_nano + (times_.end_ticks_nano - times_.start_ticks_nano);
  writer_.fixed64_field(7, times_.start_unix_nano);
  writer_.fixed64_field(8, end_unix_nano);
  oldest_end_unix_nano_ = std::min(oldest_end_unix_nano_, end_unix_nano);
}

// The start's place on the calendar and what passed since, whatever the calendar did meanwhile.
uint64_t SpanEncoder::unix_nano_of(uint64_t ticks) const {
  return times_.start_unix_nano + (clock_.monotonic_nano(ticks_, ticks) - times_.start_ticks_nano);
}

void SpanEncoder::write_items(const SpanRecordView& span) {
  std::string_view trace_state;
  std::string_view message;
  uint64_t malformed = 0;
  bool has_owner = false;  // an event or a link that details can belong to
  bool has_thread = false;
  ItemReader reader(span.items);
  for (Item item; reader.next(item);) {
    switch (item.tag) {
      case pool::ItemTag::kAttribute:
        has_thread = has_thread || item.key == kThreadId;
        if (!write_own_attribute(item)) ++malformed;
        break;
      case pool::ItemTag::kEvent:
      case pool::ItemTag::kLink: {
        bool is_event = item.tag == pool::ItemTag::kEvent;
        has_owner = item.value.size() >= (is_event ? sizeof(uint64_t) : kLinkBytes);
        if (!has_owner) {
          ++malformed;
        } else if (is_event) {
          write_event(item, reader.rest());
        } else {
          write_link(item, reader.rest());
        }
        break;
      }
      case pool::ItemTag::kDetail:  // written with its owner
        if (!has_owner || value_bytes(item) == 0) ++malformed;
        break;
      case pool::ItemTag::kStatusMessage:
        message = item.value;
        break;
      case pool::ItemTag::kTraceState:
        trace_state = item.value;
        break;
      default:
        ++malformed;
    }
  }
  if (!has_thread) write_thread(kThreadId, span.tid);
  if (!trace_state.empty()) writer_.bytes_field(3, trace_state);
  write_status(span.head.status, message);
  malformed += reader.failed() ? 1 : 0;
  if (malformed != 0) losses_.malformed_items.add(malformed);
}

// An attribute of the span itself. Thread attributes hold the program's numbers, which are translated here.
bool SpanEncoder::write_own_attribute(const Item& item) {
  const bool is_thread = item.key == kStartThreadId || item.key == kThreadId;
  if (!is_thread || item.type != pool::ItemType::kInt || value_bytes(item) == 0) {
    return write_attribute(kAttributes, item);
  }
  write_thread(item.key, load64(item.value));
  return true;
}

void SpanEncoder::write_thread(std::string_view key, uint64_t program_tid) {
  if (!node_tid_) return;
  const uint32_t tid = node_tid_of(program_tid);
  if (tid == 0) return without_thread_.add();
  const size_t value = 1 + varint_bytes(tid);
  writer_.length(kAttributes, 2 + key.size() + 2 + value);
  writer_.bytes_field(1, key);
  writer_.length(2, value);
  writer_.varint_field(3, tid);
}

// 0: not known.
uint32_t SpanEncoder::node_tid_of(uint64_t program_tid) {
  if (program_tid == asked_tid_) return known_tid_;
  asked_tid_ = program_tid;
  known_tid_ = program_tid <= kMostTid ? node_tid_(static_cast<uint32_t>(program_tid)).value_or(0) : 0;
  if (known_tid_ > kMostTid) known_tid_ = 0;
  return known_tid_;
}

bool SpanEncoder::write_attribute(uint32_t field, const Item& item) {
  size_t value = value_bytes(item);
  if (value == 0) return false;
  size_t key = 1 + varint_bytes(item.key.size()) + item.key.size();
  writer_.length(field, key + 1 + varint_bytes(value) + value);
  writer_.bytes_field(1, item.key);
  writer_.length(2, value);
  write_value(writer_, item);
  return true;
}

void SpanEncoder::write_event(const Item& event, std::string_view behind) {
  char* began = writer_.begin(kEvents);
  writer_.fixed64_field(1, unix_nano_of(load64(event.value)));
  writer_.bytes_field(2, event.key);
  write_details(3, behind);
  writer_.end(began);
}

void SpanEncoder::write_link(const Item& link, std::string_view behind) {
  char* began = writer_.begin(kLinks);
  writer_.bytes_field(1, link.value.substr(0, 16));
  writer_.bytes_field(2, link.value.substr(16, 8));
  if (!link.key.empty()) writer_.bytes_field(3, link.key);
  write_details(4, behind);
  writer_.fixed32_field(6, otlp_flags(static_cast<uint8_t>(link.value[24])));
  writer_.end(began);
}

// Details follow their owner, up to the next event or link; attributes of the span may stand between them.
void SpanEncoder::write_details(uint32_t field, std::string_view behind) {
  ItemReader reader(behind);
  for (Item item; reader.next(item);) {
    if (item.tag == pool::ItemTag::kEvent || item.tag == pool::ItemTag::kLink) return;
    if (item.tag == pool::ItemTag::kDetail) write_attribute(field, item);
  }
}

void SpanEncoder::write_status(uint8_t code, std::string_view message) {
  if (code > 2) code = 0;
  if (code == 0 && message.empty()) return;
  char* began = writer_.begin(15);
  if (!message.empty()) writer_.bytes_field(2, message);
  if (code != 0) writer_.varint_field(3, code);
  writer_.end(began);
}

}  // namespace fathom::agent
