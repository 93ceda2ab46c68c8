#include "capture/body_reader.h"

#include <algorithm>

namespace fathom::capture {

using namespace format;

bool BodyReader::charge(uint64_t memory_bytes) {
  if (memory_bytes <= room_) {
    room_ -= memory_bytes;
    return true;
  }
  exhausted_ = exhausted_ || !in_.failed();
  return in_.fail() != 0;
}

size_t BodyReader::count(size_t least_bytes, size_t memory_bytes) {
  uint64_t count = in_.varint();
  if (count > in_.remaining() / least_bytes) return in_.fail();
  return charge(count * memory_bytes) ? count : 0;
}

std::string BodyReader::text() {
  uint64_t index = in_.varint();
  if (index >= strings_.size()) in_.fail();
  if (in_.failed() || !charge(strings_[index].size())) return {};
  return std::string(strings_[index]);
}

uint64_t BodyReader::not_before(uint64_t last) {
  uint64_t passed = in_.varint();
  return passed > UINT64_MAX - last ? in_.fail() : last + passed;
}

SpanRef BodyReader::span() {
  SpanRef span;
  span.trace_id = TraceId::from_bytes(in_.raw(sizeof span.trace_id.bytes)).value_or(TraceId{});
  span.span_id = SpanId::from_bytes(in_.raw(sizeof span.span_id.bytes)).value_or(SpanId{});
  return span;
}

void BodyReader::read(uint64_t from, uint64_t to) {
  in_ = ByteReader(body_.substr(from, to - from));
  end_ = to;
}

void BodyReader::take_tables() {
  const uint64_t tables_end = body_.size() - std::min(body_.size(), kTailBytes);
  ByteReader tail(body_.substr(tables_end));
  blocks_end_ = tail.u64();
  if (tail.failed() || blocks_end_ > tables_end) return fail();
  read(blocks_end_, tables_end);
  take_strings();
}

void BodyReader::take_strings() {
  size_t many = count(kLeastString, sizeof(std::string_view));
  strings_.reserve(many + 1);
  for (size_t i = 0; i < many && !failed(); ++i) {
    strings_.push_back(in_.string());
    if (strings_.back().size() > kMostTextBytes) fail();
  }
}

}  // namespace fathom::capture
