#include "node-agent/uplink/spool_format.h"

#include <cassert>
#include <cstring>

#include "base/bytes.h"
#include "base/hash.h"

namespace fathom::agent {

using namespace spool_format;

namespace {

constexpr uint32_t kHasClock = 1;
constexpr size_t kHashedFrom = 16;  // behind magic, state and the hash itself

void append_hash(std::string& out) {
  ByteWriter(out).u64(hash64(out));
}

}  // namespace

std::string encode_file_head(const BootId& boot_id) {
  std::string head;
  ByteWriter out(head);
  out.u64(kFileMagic);
  out.u32(kVersion);
  out.u32(kFileHeadBytes);
  out.raw({reinterpret_cast<const char*>(boot_id.data()), boot_id.size()});
  out.u64(0);
  append_hash(head);
  assert(head.size() == kFileHeadBytes);
  return head;
}

std::optional<BootId> decode_file_head(std::string_view bytes) {
  if (bytes.size() < kFileHeadBytes) return std::nullopt;
  ByteReader in(bytes.substr(0, kFileHeadBytes));
  bool known = in.u64() == kFileMagic && in.u32() == kVersion && in.u32() == kFileHeadBytes;
  BootId boot_id;
  std::memcpy(boot_id.data(), in.raw(boot_id.size()).data(), boot_id.size());
  in.u64();
  if (!known || in.u64() != hash64(bytes.substr(0, kFileHeadBytes - 8))) return std::nullopt;
  return boot_id;
}

bool is_of_other_version(std::string_view bytes) {
  if (bytes.size() < kFileHeadBytes) return false;
  ByteReader in(bytes);
  return in.u64() == kFileMagic && in.u32() != kVersion;
}

uint64_t hash_payload(std::string_view payload) {
  return hash64(payload, kEntryMagic);
}

std::string encode_entry_head(const SpoolHead& batch, std::string_view payload) {
  std::string hashed;
  ByteWriter out(hashed);
  out.u64(hash_payload(payload));
  out.u32(static_cast<uint32_t>(payload.size()));
  out.u32(batch.spans);
  out.raw({reinterpret_cast<const char*>(batch.identity.data()), batch.identity.size()});
  out.u64(batch.built.real_nano);
  out.u64(batch.built.boot_nano);
  out.u64(batch.built.uncertain_nano);
  out.u32(batch.clock ? kHasClock : 0);
  out.u32(0);
  ClockOffset clock = batch.clock.value_or(ClockOffset());
  out.u64(static_cast<uint64_t>(clock.offset_nano));
  out.u64(clock.error_nano);
  out.u64(0);
  std::string head;
  ByteWriter front(head);
  front.u32(kEntryMagic);
  front.u32(kWaiting);
  front.u64(hash64(hashed));
  front.raw(hashed);
  assert(head.size() == kEntryHeadBytes);
  return head;
}

std::optional<SpoolEntryHead> decode_entry_head(std::string_view bytes) {
  if (bytes.size() < kEntryHeadBytes) return std::nullopt;
  bytes = bytes.substr(0, kEntryHeadBytes);
  ByteReader in(bytes);
  if (in.u32() != kEntryMagic) return std::nullopt;
  SpoolEntryHead head;
  head.state = in.u32();
  if (in.u64() != hash64(bytes.substr(kHashedFrom))) return std::nullopt;
  head.payload_hash = in.u64();
  head.payload_bytes = in.u32();
  head.batch.spans = in.u32();
  std::memcpy(head.batch.identity.data(), in.raw(16).data(), 16);
  head.batch.built = {in.u64(), 0, 0};
  head.batch.built.boot_nano = in.u64();
  head.batch.built.uncertain_nano = in.u64();
  uint32_t flags = in.u32();
  in.u32();
  ClockOffset clock{static_cast<int64_t>(in.u64()), 0};
  clock.error_nano = in.u64();
  if (flags & kHasClock) head.batch.clock = clock;
  if (head.payload_bytes > kMostPayload) return std::nullopt;
  return head;
}

}  // namespace fathom::agent
