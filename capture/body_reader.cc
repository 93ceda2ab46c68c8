#include "capture/body_reader.h"

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

void BodyReader::take_strings() {
  uint64_t at = in_.u64();
  if (at < sizeof at || at > body_.size()) in_.fail();
  if (in_.failed()) return;
  in_ = ByteReader(body_.substr(at));
  size_t many = count(kLeastString, sizeof(std::string_view));
  strings_.reserve(many + 1);
  for (size_t i = 0; i < many; ++i) {
    strings_.push_back(in_.string());
    if (strings_.back().size() > kMostTextBytes) return fail();
  }
  if (in_.failed() || !in_.at_end()) return fail();
  in_ = ByteReader(body_.substr(0, at));
  in_.u64();
  behind_ = body_.size() - at;
}

}  // namespace fathom::capture
