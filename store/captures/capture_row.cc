#include "store/captures/capture_row.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "store/rocks/keys.h"

namespace fathom::store {

namespace {

constexpr uint8_t kRowVersion = 1;

enum Flag : uint8_t {
  kHasTrace = 1,
  kHasSpan = 2,
  kHasClock = 4,
  kCrossesClockJump = 8,
  kTruncated = 16,
  kAllFlags = 31,
};

enum class Index : uint8_t { kReception = 1, kContent = 2, kAll = 3, kTrace = 4, kService = 5, kProcess = 6 };

uint8_t flags_of(const CaptureInfo& info) {
  uint8_t flags = 0;
  if (!info.trace_id.is_zero()) flags |= kHasTrace;
  if (!info.span_id.is_zero()) flags |= kHasSpan;
  if (info.clock) flags |= kHasClock;
  if (info.crosses_clock_jump) flags |= kCrossesClockJump;
  if (info.truncated) flags |= kTruncated;
  return flags;
}

template <size_t kSize>
Id<kSize> read_id(ByteReader& in) {
  return Id<kSize>::from_bytes(in.raw(kSize)).value_or(Id<kSize>());
}

void read_who(ByteReader& in, uint8_t flags, CaptureInfo& info) {
  if (flags & kHasTrace) info.trace_id = read_id<16>(in);
  if (flags & kHasSpan) info.span_id = read_id<8>(in);
  info.node_id = read_id<16>(in);
  info.trigger = static_cast<CaptureTrigger>(in.u8());
  info.pid = in.varint32();
  info.node_name = in.string();
  info.service = in.string();
  info.operation = in.string();
}

void read_when(ByteReader& in, uint8_t flags, CaptureInfo& info) {
  info.start_unix_nano = in.varint();
  info.end_unix_nano = info.start_unix_nano + in.varint();  // one that wraps around ends before it starts: check()
  if (flags & kHasClock) {
    int64_t offset_nano = in.svarint();
    info.clock = ClockOffset{offset_nano, in.varint()};
  }
  info.crosses_clock_jump = flags & kCrossesClockJump;
  info.truncated = flags & kTruncated;
}

void read_losses(ByteReader& in, CaptureInfo& info) {
  uint64_t count = in.varint();
  if (count > kMostCaptureLosses) in.fail();
  for (uint64_t i = 0; i < count && !in.failed(); ++i) {
    std::string name(in.string());
    info.losses.push_back({std::move(name), in.varint()});
  }
}

std::string index_key(Index index) {
  std::string key = keys::tenant_prefix();
  key.push_back(static_cast<char>(index));
  return key;
}

std::string hashed_series(Index index, std::string_view what) {
  std::string key = index_key(index);
  Hash128 hash = hash128(what);
  append_be64(key, hash.high);
  append_be64(key, hash.low);
  return key;
}

}  // namespace

std::string encode_capture(const CaptureInfo& info) {
  std::string value;
  ByteWriter out(value);
  out.u8(kRowVersion);
  out.u8(flags_of(info));
  if (!info.trace_id.is_zero()) out.raw(info.trace_id.view());
  if (!info.span_id.is_zero()) out.raw(info.span_id.view());
  out.raw(info.node_id.view());
  out.u8(static_cast<uint8_t>(info.trigger));
  out.varint(info.pid);
  out.string(info.node_name);
  out.string(info.service);
  out.string(info.operation);
  out.varint(info.start_unix_nano);
  out.varint(info.end_unix_nano - info.start_unix_nano);
  if (info.clock) {
    out.svarint(info.clock->offset_nano);
    out.varint(info.clock->error_nano);
  }
  out.varint(info.received_unix_nano);
  out.varint(info.size_bytes);
  out.raw(info.sha256.view());
  out.varint(info.losses.size());
  for (const CaptureLoss& loss : info.losses) {
    out.string(loss.name);
    out.varint(loss.count);
  }
  return value;
}

Result<CaptureInfo> decode_capture(std::string_view key, std::string_view value) {
  ByteReader in(value);
  if (uint8_t version = in.u8(); version != kRowVersion || key.size() != 4 + capture_keys::kIdBytes) {
    return corrupt("the row of a capture is damaged: version " + std::to_string(version));
  }
  CaptureInfo info;
  info.tenant = load_be32(key.data());
  info.id = capture_keys::id_of(key);
  uint8_t flags = in.u8();
  if (flags > kAllFlags) in.fail();
  read_who(in, flags, info);
  read_when(in, flags, info);
  info.received_unix_nano = in.varint();
  info.size_bytes = in.varint();
  info.sha256 = read_id<32>(in);
  read_losses(in, info);
  bool ids_are_there = flags_of(info) == flags;
  if (in.failed() || !in.at_end() || !ids_are_there) return corrupt("the row of a capture is damaged");
  if (Result<> checked = check(info); !checked) return corrupt("a stored row: " + checked.error().message);
  return info;
}

std::string encode_content_size(uint64_t size_bytes) {
  std::string value;
  ByteWriter(value).varint(size_bytes);
  return value;
}

Result<uint64_t> decode_content_size(std::string_view value) {
  ByteReader in(value);
  uint64_t size_bytes = in.varint();
  if (in.failed() || !in.at_end()) return corrupt("the size of a capture's content is damaged");
  return size_bytes;
}

namespace capture_keys {

std::string capture(const CaptureId& id) {
  std::string key = keys::tenant_prefix();
  key.append(id.view());
  return key;
}

std::string receptions() {
  return index_key(Index::kReception);
}

std::string reception(uint64_t received_unix_nano, const CaptureId& id) {
  return at(receptions(), received_unix_nano, id);
}

std::string content_prefix(const Sha256& hash) {
  std::string key = index_key(Index::kContent);
  key.append(hash.view());
  return key;
}

std::string contents() {
  return index_key(Index::kContent);
}

std::string content(const Sha256& hash, const CaptureId& id) {
  std::string key = content_prefix(hash);
  key.append(id.view());
  return key;
}

std::string all_series() {
  return index_key(Index::kAll);
}

std::string traces() {
  return index_key(Index::kTrace);
}

std::string trace_series(const TraceId& id) {
  std::string key = traces();
  key.append(id.view());
  return key;
}

TraceId trace_of(std::string_view trace_key) {
  const size_t before = traces().size();
  if (trace_key.size() < before) return {};
  return TraceId::from_bytes(trace_key.substr(before, sizeof(TraceId))).value_or(TraceId{});
}

std::string service_series(std::string_view service) {
  return hashed_series(Index::kService, service);
}

std::string process_series(const CaptureProcess& process) {
  std::string key = index_key(Index::kProcess);
  key.append(process.node_id.view());
  append_be32(key, process.pid);
  return key;
}

std::string at(std::string series, uint64_t start_unix_nano, const CaptureId& id) {
  append_be64(series, start_unix_nano);
  series.append(id.view());
  return series;
}

CaptureId id_of(std::string_view key) {
  if (key.size() < kIdBytes) return {};
  return *CaptureId::from_bytes(key.substr(key.size() - kIdBytes));
}

Sha256 hash_of(std::string_view content_key) {
  if (content_key.size() < kContentPrefix) return {};
  return *Sha256::from_bytes(content_key.substr(5, 32));
}

uint64_t instant_of(std::string_view key) {
  return key.size() < kIdBytes + 8 ? 0 : load_be64(key.data() + key.size() - kIdBytes - 8);
}

}  // namespace capture_keys

}  // namespace fathom::store
