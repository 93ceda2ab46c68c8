#include "store/clock/age_state.h"

#include "base/bytes.h"
#include "base/hash.h"

namespace fathom::store {

namespace {

constexpr std::string_view kMagic = "FTHMAGES";
constexpr uint8_t kVersion = 1;
constexpr uint8_t kHasTrusted = 1, kHasDoubt = 2;
constexpr size_t kMostBootIdBytes = 64;

void write_doubt(ByteWriter& out, const ClockDoubt& doubt) {
  out.svarint(doubt.anchor_nano);
  out.varint(doubt.stable_nano);
  out.u8(doubt.across_boots ? 1 : 0);
  out.varint(doubt.since_nano);
  out.varint(doubt.off_nano);
}

ClockDoubt read_doubt(ByteReader& in) {
  ClockDoubt doubt;
  doubt.anchor_nano = in.svarint();
  doubt.stable_nano = in.varint();
  doubt.across_boots = in.u8() != 0;
  doubt.since_nano = in.varint();
  doubt.off_nano = in.varint();
  return doubt;
}

std::string encode_body(const AgeState& state) {
  std::string bytes;
  ByteWriter out(bytes);
  out.string(state.boot_id.substr(0, kMostBootIdBytes));
  out.varint(state.boottime_nano);
  out.varint(state.age_nano);
  out.svarint(state.offset_nano);
  out.u8(static_cast<uint8_t>((state.trusted_nano ? kHasTrusted : 0) | (state.doubt ? kHasDoubt : 0)));
  if (state.trusted_nano) out.svarint(*state.trusted_nano);
  if (state.doubt) write_doubt(out, *state.doubt);
  out.varint(state.gaps.size());
  for (const AgeGap& gap : state.gaps) {
    out.varint(gap.at_nano);
    out.varint(gap.off_nano);
  }
  return bytes;
}

bool is_offset(int64_t nano) {
  constexpr auto kMost = static_cast<int64_t>(kMostAgeNano);
  return nano > -kMost && nano < kMost;
}

bool is_sound(const ClockDoubt& doubt) {
  return is_offset(doubt.anchor_nano) && doubt.stable_nano < kMostAgeNano && doubt.since_nano < kMostAgeNano &&
         doubt.off_nano < kMostAgeNano;
}

bool is_sound(const AgeState& state) {
  uint64_t last = 0;
  for (const AgeGap& gap : state.gaps) {
    if (gap.at_nano < last || gap.at_nano > state.age_nano || gap.off_nano >= kMostAgeNano) return false;
    last = gap.at_nano;
  }
  return state.boot_id.size() <= kMostBootIdBytes && state.boottime_nano < kMostAgeNano &&
         state.age_nano < kMostAgeNano && is_offset(state.offset_nano) && is_offset(state.trusted_nano.value_or(0)) &&
         is_sound(state.doubt.value_or(ClockDoubt{}));
}

AgeState read_body(ByteReader& in) {
  AgeState state;
  state.boot_id = in.string();
  state.boottime_nano = in.varint();
  state.age_nano = in.varint();
  state.offset_nano = in.svarint();
  const uint8_t has = in.u8();
  if ((has & kHasTrusted) != 0) state.trusted_nano = in.svarint();
  if ((has & kHasDoubt) != 0) state.doubt = read_doubt(in);
  const uint64_t gaps = in.varint();
  if (gaps > kMostAgeGaps) in.fail();
  for (uint64_t i = 0; i < gaps && !in.failed(); ++i) {
    AgeGap gap;
    gap.at_nano = in.varint();
    gap.off_nano = in.varint();
    state.gaps.push_back(gap);
  }
  return state;
}

}  // namespace

bool is_first_age_state(const AgeState& state) {
  return state == AgeState{};
}

std::string encode_age_state(const AgeState& state) {
  const std::string body = encode_body(state);
  std::string bytes(kMagic);
  ByteWriter out(bytes);
  out.u8(kVersion);
  out.u64(hash64(body));
  out.raw(body);
  return bytes;
}

Result<AgeState> decode_age_state(std::string_view bytes) {
  ByteReader in(bytes);
  if (bytes.size() > kMostAgeStateBytes || in.raw(kMagic.size()) != kMagic) return corrupt("it is not a clock's state");
  if (const uint8_t version = in.u8(); version != kVersion) {
    return corrupt("it has version " + std::to_string(version) + "; this program reads version " +
                   std::to_string(kVersion));
  }
  const uint64_t hash = in.u64();
  if (in.failed() || hash != hash64(std::string_view(in.position(), in.remaining()))) {
    return corrupt("its checksum does not match its content");
  }
  AgeState state = read_body(in);
  if (in.failed() || !in.at_end() || !is_sound(state)) return corrupt("its content is not a clock's state");
  return state;
}

}  // namespace fathom::store
