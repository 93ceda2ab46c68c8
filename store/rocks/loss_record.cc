#include "store/rocks/loss_record.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/time.h"

namespace fathom::store {

namespace {

constexpr uint8_t kUnixVersion = 1;
constexpr uint8_t kAgeVersion = 2;
constexpr uint64_t kUsualDelayNano = 10 * kNanosPerMinute;  // from the start of a span to its reception

// Version 1 has a last time before the first one where the wall clock was set back in between.
RecordedLoss read_loss(ByteReader& in) {
  RecordedLoss loss;
  const uint64_t one = in.u64(), other = in.u64();
  loss.first_received_nano = std::min(one, other);
  loss.last_received_nano = std::max(one, other);
  loss.found_nano = in.u64();
  loss.bytes = in.varint();
  if (uint64_t batches = in.varint(); batches > 0) loss.most_batches = batches - 1;
  return loss;
}

}  // namespace

std::string encode_loss_record(const LossRecord& record) {
  std::string value;
  ByteWriter out(value);
  out.u8(record.is_unix ? kUnixVersion : kAgeVersion);
  for (const RecordedLoss& loss : record.losses) {
    out.u64(loss.first_received_nano);
    out.u64(loss.last_received_nano);
    out.u64(loss.found_nano);
    out.varint(loss.bytes);
    out.varint(loss.most_batches ? *loss.most_batches + 1 : 0);
  }
  return value;
}

Result<LossRecord> decode_loss_record(std::string_view value) {
  ByteReader in(value);
  const uint8_t version = in.u8();
  LossRecord record{.is_unix = version == kUnixVersion, .losses = {}};
  if (in.failed() || (version != kUnixVersion && version != kAgeVersion)) return corrupt("it does not decode");
  while (!in.failed() && !in.at_end()) record.losses.push_back(read_loss(in));
  return in.failed() ? Result<LossRecord>(corrupt("it does not decode")) : record;
}

std::vector<Loss> losses_of_record(const LossRecord& record, const AgeTime& time) {
  std::vector<Loss> losses;
  for (const RecordedLoss& one : record.losses) {
    const UnixSpan received = record.is_unix ? UnixSpan{one.first_received_nano, one.last_received_nano}
                                             : time.unix_span(one.first_received_nano, one.last_received_nano);
    losses.push_back({.first_received_unix_nano = received.first_nano,
                      .last_received_unix_nano = received.last_nano,
                      .found_unix_nano = record.is_unix ? one.found_nano : time.unix_of(one.found_nano),
                      .bytes = one.bytes,
                      .most_batches = one.most_batches,
                      .earliest_start_unix_nano = received.first_nano - std::min(received.first_nano, kUsualDelayNano),
                      .latest_start_unix_nano = received.last_nano});
  }
  return losses;
}

}  // namespace fathom::store
