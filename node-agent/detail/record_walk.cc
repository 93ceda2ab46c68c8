#include "node-agent/detail/record_walk.h"

#include <algorithm>
#include <cstring>

namespace fathom::agent {

namespace {

constexpr uint64_t kTickBits = 48;
constexpr uint64_t kTickMask = (uint64_t{1} << kTickBits) - 1;
// A record may be older than the one before it, and than its chunk, by as long as a signal handler ran between the
// clock's being read and the place's being reserved: minutes, whatever the clock. Later by as long as a copy takes.
constexpr uint64_t kMostBackwards = uint64_t{1} << 40;
constexpr uint64_t kMostAhead = uint64_t{1} << 34;
constexpr uint32_t kEndOfKinds = pool::kFirstTracepoint + pool::kMostTracepoints;
constexpr uint32_t kLongPayloadOffset = pool::kPayloadOffset + 4;

template <typename Word>
Word word_at(std::string_view bytes, size_t at) {
  Word word;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

struct Shape {
  uint32_t kind = 0;
  uint32_t bytes = 0;  // of the whole record
  uint32_t payload_offset = 0;
  uint32_t payload_bytes = 0;
};

bool take_long_shape(std::string_view rest, Shape& shape) {
  uint32_t payload = word_at<uint32_t>(rest, pool::kPayloadOffset);
  if (payload > pool::kMostEventBytes - pool::kLeastRecordBytes) return false;
  shape.payload_offset = kLongPayloadOffset;
  shape.payload_bytes = payload;
  shape.bytes = (pool::kLeastRecordBytes + payload + pool::kRecordAlignment - 1) & ~(pool::kRecordAlignment - 1);
  return true;
}

// Some functions are inlined by force: a capture has hundreds of thousands of records, and somebody waits for it.

// `rest`: from the record's begin to the chunk's end, at least kLeastRecordBytes.
[[gnu::always_inline]] inline bool take_shape(std::string_view rest, Shape& shape) {
  uint32_t head = word_at<uint16_t>(rest, pool::kHeadOffset);
  shape.kind = pool::kind_of(head);
  uint32_t words = head & pool::kLongWords;
  if (words == pool::kLongWords) [[unlikely]]
    return take_long_shape(rest, shape) && shape.bytes <= rest.size();
  shape.bytes = pool::kLeastRecordBytes + words * pool::kRecordAlignment;
  shape.payload_offset = pool::kPayloadOffset;
  shape.payload_bytes = shape.bytes - pool::kPayloadOffset;
  return shape.bytes <= rest.size();
}

uint64_t ticks_of(std::string_view rest) {
  return word_at<uint64_t>(rest, 0) & kTickMask;
}

// The time with these 48 bits that is next to `last`: a little before it, or any time after it.
uint64_t whole_ticks(uint64_t low, uint64_t last) {
  uint64_t ahead = (low - last) & kTickMask;
  return ahead > kTickMask - kMostBackwards ? last + ahead - kTickMask - 1 : last + ahead;
}

// A thread may have been silent for longer than 48 bits can tell. What could be of the window that was asked for is:
// that a record of a day before has these very bits by chance is less likely by far.
uint64_t ticks_in_window(uint64_t ticks, const ChunkView& chunk) {
  if (ticks >= chunk.asked_from_ticks || chunk.last_ticks > UINT64_MAX - kMostAhead) return ticks;
  if (chunk.last_ticks + kMostAhead < ticks) return ticks;
  uint64_t laps = (chunk.last_ticks + kMostAhead - ticks) >> kTickBits;
  uint64_t latest = ticks + (laps << kTickBits);
  return latest >= chunk.asked_from_ticks ? latest : ticks;
}

bool is_ours(std::string_view rest, const Shape& shape) {
  if (shape.payload_offset == kLongPayloadOffset || shape.kind > pool::kMoreSpans) return false;
  if (shape.kind == pool::kOwner) return shape.bytes == pool::kLeastRecordBytes;
  uint32_t count = word_at<uint32_t>(rest, pool::kPayloadOffset);
  return count <= pool::kSpansInRecord && shape.bytes == pool::kLeastRecordBytes + count * sizeof(pool::SpanRef);
}

bool is_known(std::string_view rest, const Shape& shape, const TracepointTable* table) {
  if (shape.kind < pool::kFirstTracepoint) return is_ours(rest, shape);
  std::string_view payload = rest.substr(shape.payload_offset, shape.payload_bytes);
  return table == nullptr || table->fits(shape.kind, payload, shape.payload_offset == kLongPayloadOffset);
}

// Where anything may lie: half of a record, with a stranger's text in it.
bool is_likely(std::string_view rest, const Shape& shape, uint64_t last, const ChunkView& chunk) {
  if (shape.kind == pool::kPad) return ticks_of(rest) == 0;
  if (!is_known(rest, shape, chunk.table)) return false;
  uint64_t ticks = whole_ticks(ticks_of(rest), last);
  return chunk.last_ticks > UINT64_MAX - kMostAhead || ticks <= chunk.last_ticks + kMostAhead;
}

// Whether a record begins at `at`.
[[gnu::always_inline]] inline bool look(const ChunkView& chunk, size_t at, bool in_hole, uint64_t last, Shape& shape) {
  const std::string_view rest(chunk.bytes.data() + at, chunk.bytes.size() - at);
  if (word_at<uint32_t>(rest, pool::kEpochOffset) != chunk.epoch) return false;
  if (!take_shape(rest, shape) || shape.kind >= kEndOfKinds) return false;
  return !in_hole || is_likely(rest, shape, last, chunk);
}

bool has_room(const ChunkView& chunk, size_t at) {
  return chunk.bytes.size() >= pool::kLeastRecordBytes && at <= chunk.bytes.size() - pool::kLeastRecordBytes;
}

// The first offset from `at` on with the epoch of the chunk's records; if there is none, one without room for a record.
size_t next_of_epoch(const ChunkView& chunk, size_t at) {
  while (has_room(chunk, at) && word_at<uint32_t>(chunk.bytes, at + pool::kEpochOffset) != chunk.epoch) {
    at += pool::kRecordAlignment;
  }
  return at;
}

}  // namespace

struct RecordWalk::Head {
  Shape shape;
  std::string_view payload;
};

[[gnu::always_inline]] inline bool RecordWalk::find(Head& head) {
  for (; has_room(chunk_, at_); at_ += pool::kRecordAlignment) {
    const bool in_hole = at_ != end_;
    if (!look(chunk_, at_, in_hole, ticks_, head.shape)) continue;
    if (in_hole) count_hole();
    const char* record = chunk_.bytes.data() + at_;
    head.payload = {record + head.shape.payload_offset, head.shape.payload_bytes};
    if (head.shape.kind != pool::kPad)
      ticks_ = ticks_in_window(whole_ticks(ticks_of({record, head.shape.bytes}), ticks_), chunk_);
    at_ = end_ = at_ + head.shape.bytes;
    return true;
  }
  return false;
}

void RecordWalk::count_hole() {
  ++counts_.holes;
  counts_.hole_bytes += at_ - end_;
  spans_certain_ = false;
}

void RecordWalk::take_owner(std::string_view payload) {
  tid_ = word_at<uint32_t>(payload, 0);
  spans_.clear();
  spans_certain_ = true;
}

void RecordWalk::take_spans(std::string_view payload, bool anew) {
  uint32_t count = word_at<uint32_t>(payload, 0);
  payload.remove_prefix(sizeof count);
  if (anew) spans_.clear();
  if (anew) spans_certain_ = true;
  if (count > payload.size() / sizeof(pool::SpanRef)) {
    ++counts_.malformed_records;
    spans_certain_ = false;
    return;
  }
  size_t taken = std::min<size_t>(count, kMostSpans - spans_.size());
  counts_.dropped_spans += count - taken;
  for (size_t i = 0; i < taken; ++i) spans_.push_back(word_at<pool::SpanRef>(payload, i * sizeof(pool::SpanRef)));
}

void RecordWalk::take_ours(const Head& head) {
  if (head.shape.kind == pool::kPad) return;
  if (head.payload.size() < sizeof(uint32_t)) {
    ++counts_.malformed_records;
  } else if (head.shape.kind == pool::kOwner) {
    take_owner(head.payload);
  } else if (head.shape.kind == pool::kSpans || head.shape.kind == pool::kMoreSpans) {
    take_spans(head.payload, head.shape.kind == pool::kSpans);
  } else {
    ++counts_.unknown_records;
  }
}

bool RecordWalk::next(DetailRecord& record) {
  Head head;
  while (find(head)) {
    if (head.shape.kind < pool::kFirstTracepoint) {
      take_ours(head);
      continue;
    }
    ++counts_.records;
    record = {.ticks = ticks_,
              .kind = head.shape.kind,
              .tid = tid_,
              .long_form = head.shape.payload_offset == kLongPayloadOffset,
              .spans_certain = spans_certain_,
              .payload = head.payload,
              .spans = spans_};
    return true;
  }
  return false;
}

// Behind the first hole each place is looked at: what looks like a record there may lie across others.
size_t settle(std::string_view first, char* second, const ChunkView& chunk) {
  constexpr uint32_t kNoEpoch = 0;  // never a claim's
  size_t end = 0;
  bool in_hole = false;
  for (size_t at = 0; has_room(chunk, at);) {
    bool has_epoch = word_at<uint32_t>(chunk.bytes, at + pool::kEpochOffset) == chunk.epoch;
    bool is_old = word_at<uint32_t>(first, at + pool::kEpochOffset) == chunk.epoch;
    if (has_epoch && !is_old) std::memcpy(second + at + pool::kEpochOffset, &kNoEpoch, sizeof kNoEpoch);
    Shape shape;
    bool is_record = look(chunk, at, in_hole, chunk.first_ticks, shape);
    if (is_record) end = std::max(end, at + shape.bytes);
    in_hole = in_hole || !is_record;
    at = in_hole ? next_of_epoch(chunk, at + pool::kRecordAlignment) : at + shape.bytes;
  }
  return end;
}

size_t bytes_with_epoch(std::string_view chunk, uint32_t epoch) {
  if (chunk.size() < pool::kLeastRecordBytes) return 0;
  for (size_t places = (chunk.size() - pool::kLeastRecordBytes) / pool::kRecordAlignment + 1; places > 0; --places) {
    const size_t at = (places - 1) * pool::kRecordAlignment;
    if (word_at<uint32_t>(chunk, at + pool::kEpochOffset) == epoch) {
      return std::min<size_t>(chunk.size(), at + pool::kMostEventBytes);
    }
  }
  return 0;
}

}  // namespace fathom::agent
