#include "snapshot/import/testing/perf_builder.h"

#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstdlib>

#include "base/bytes.h"

namespace fathom::snapshot::perf {
namespace {

constexpr uint64_t kTestMtcBit = 1 << 9;
constexpr uint64_t kTestMtcBits = 0xfULL << 14;
constexpr uint64_t kSampleIdAll = 1 << 18;

std::string fixed(std::initializer_list<uint64_t> values) {
  std::string bytes;
  ByteWriter out(bytes);
  for (uint64_t value : values) out.u64(value);
  return bytes;
}

std::string record_bytes(uint32_t type, uint16_t misc, const std::string& payload) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u32(type);
  out.u32(misc | static_cast<uint32_t>(payload.size() + kRecordHeaderBytes) << 16);
  return bytes + payload;
}

std::string attr(uint64_t sample_type) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u32(kTestPmu);
  out.u32(112);
  out.u64(kTestMtcBit | 3ULL << 14);
  out.u64(1);
  out.u64(sample_type);
  out.u64(0);
  out.u64(kSampleIdAll);
  bytes.resize(112);
  return bytes;
}

Fd file_in_memory(const std::string& content) {
  Fd file(::memfd_create("perf.data", MFD_CLOEXEC));
  if (::write(file.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size())) std::abort();
  return file;
}

std::string padded(std::string text) {
  text.resize((text.size() + 8) & ~size_t{7});
  return text;
}

}  // namespace

PerfBuilder& PerfBuilder::record(uint32_t type, uint16_t misc, const std::string& payload) {
  records_ += record_bytes(type, misc, payload);
  return *this;
}

PerfBuilder& PerfBuilder::info(bool ring_copies, bool with_clock) {
  // Two nanoseconds for a tick of the counter.
  return record(kAuxtraceInfo, 0,
                fixed({kAuxtraceIntelPt, kTestPmu, 1, 4, kTestZero, with_clock, 1 << 10, 1 << 11, 3, ring_copies, 1,
                       kTestMtcBit, kTestMtcBits, 168, 2, 2, 28, 0}));
}

PerfBuilder& PerfBuilder::kernel_record(uint32_t type, uint16_t misc, std::string payload, const TestId& id) {
  ByteWriter out(payload);
  const bool made_by_perf = id.nano == 0;
  out.u32(made_by_perf ? 0 : static_cast<uint32_t>(id.pid));
  out.u32(made_by_perf ? 0 : static_cast<uint32_t>(id.tid));
  out.u64(id.nano);
  out.u64(made_by_perf ? 0 : static_cast<uint32_t>(id.cpu));
  out.u64(made_by_perf ? 0 : kTestEventId);
  return record(type, misc, payload);
}

PerfBuilder& PerfBuilder::map2(const TestId& id, uint64_t address, uint64_t length, uint64_t file_offset,
                               const std::string& name, const std::string& build_id, uint16_t misc) {
  std::string payload;
  ByteWriter out(payload);
  out.u32(static_cast<uint32_t>(id.pid));
  out.u32(static_cast<uint32_t>(id.tid));
  for (uint64_t value : {address, length, file_offset}) out.u64(value);
  std::string identity(24, '\0');
  if (!build_id.empty()) {
    identity[0] = static_cast<char>(build_id.size());
    identity.replace(4, build_id.size(), build_id);
    misc |= kMiscMapBuildId;
  }
  out.raw(identity);
  out.u32(5);  // read, execute
  out.u32(2);
  out.raw(padded(name));
  return kernel_record(PERF_RECORD_MMAP2, misc, payload, id);
}

PerfBuilder& PerfBuilder::packets(int32_t cpu, int32_t tid, uint64_t offset, const std::string& bytes) {
  std::string data = bytes;
  data.resize((data.size() + 7) & ~size_t{7});
  std::string payload = fixed({data.size(), offset, 0});
  ByteWriter out(payload);
  for (int32_t number : {0, tid, cpu, 0}) out.u32(static_cast<uint32_t>(number));
  record(kAuxtrace, 0, payload);
  records_ += data;
  return *this;
}

PerfBuilder& PerfBuilder::sample(const TestId& id, const std::string& packets) {
  std::string payload = fixed({kTestEventId});
  ByteWriter out(payload);
  out.u32(static_cast<uint32_t>(id.pid));
  out.u32(static_cast<uint32_t>(id.tid));
  out.u64(id.nano);
  out.u64(static_cast<uint32_t>(id.cpu));
  const size_t bytes = (packets.size() + 7) & ~size_t{7};
  out.u64(bytes);
  out.raw(packets);
  payload.append(bytes - packets.size(), '\0');
  return record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, payload);
}

PerfBuilder& PerfBuilder::compress(size_t begin, size_t piece_bytes, uint32_t type) {
  const std::string plain = records_.substr(begin);
  records_.resize(begin);
  ZSTD_CCtx* context = ZSTD_createCCtx();
  for (size_t at = 0; at < plain.size(); at += piece_bytes) {
    std::string piece(ZSTD_compressBound(piece_bytes) + 64, '\0');
    ZSTD_inBuffer in{plain.data() + at, std::min(piece_bytes, plain.size() - at), 0};
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    if (ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush) != 0) std::abort();
    piece.resize(out.pos);
    if (type == kCompressed2) {
      const std::string size = fixed({piece.size()});
      piece.resize((piece.size() + 7) & ~size_t{7});
      piece = size + piece;
    }
    record(type, 0, piece);
  }
  ZSTD_freeCCtx(context);
  return *this;
}

PerfBuilder& PerfBuilder::feature(Feature feature, const std::string& content) {
  features_.emplace_back(feature, content);
  return *this;
}

std::string PerfBuilder::header_string(const std::string& text) {
  std::string bytes;
  const std::string content = padded(text);
  ByteWriter(bytes).u32(static_cast<uint32_t>(content.size()));
  return bytes + content;
}

std::string PerfBuilder::build_id_entry(const std::string& build_id, const std::string& name) {
  std::string payload;
  ByteWriter(payload).u32(UINT32_MAX);
  std::string field = build_id;
  field.resize(24);
  field[20] = static_cast<char>(build_id.size());
  return record_bytes(0, PERF_RECORD_MISC_USER | kMiscBuildIdSize, payload + field + padded(name));
}

std::string PerfBuilder::file() const {
  const std::string ids = fixed({kTestEventId});
  const uint64_t ids_at = kFileHeaderBytes;
  const uint64_t attrs_at = ids_at + ids.size();
  const std::string attrs = attr(sample_type_) + fixed({ids_at, ids.size()});
  const uint64_t data_at = attrs_at + attrs.size();
  std::string bits(kFeatures / 8, '\0');
  for (const auto& [feature, content] : features_) {
    bits[feature / 8] = static_cast<char>(static_cast<unsigned char>(bits[feature / 8]) | 1U << (feature % 8));
  }
  std::string bytes(kMagic);
  bytes += fixed({kFileHeaderBytes, attrs.size(), attrs_at, attrs.size(), data_at, records_.size(), 0, 0}) + bits;
  bytes += ids + attrs + records_;
  uint64_t content_at = bytes.size() + features_.size() * 16;
  for (const auto& [feature, content] : features_) {
    bytes += fixed({content_at, content.size()});
    content_at += content.size();
  }
  for (const auto& [feature, content] : features_) bytes += content;
  return bytes;
}

std::string PerfBuilder::pipe() const {
  std::string bytes(kMagic);
  bytes += fixed({kPipeHeaderBytes}) + record_bytes(kHeaderAttr, 0, attr(sample_type_) + fixed({kTestEventId}));
  for (const auto& [feature, content] : features_) {
    bytes += record_bytes(kHeaderFeature, 0, fixed({feature}) + content);
  }
  return bytes + records_;
}

std::string test_packets(uint64_t seed, size_t points) {
  std::string bytes;
  for (size_t point = 0; point < points; ++point) {
    for (int i = 0; i < 8; ++i) bytes += "\x02\x82";
    bytes += '\x19';  // TSC
    for (int shift = 0; shift < 56; shift += 8) bytes += static_cast<char>((seed + point) >> shift);
    bytes += "\x02\x23";  // PSBEND
    for (uint64_t i = 0; i < 100; ++i) bytes += static_cast<char>(((seed * 7 + point * 13 + i * i) | 8) & 0x7e);
  }
  return bytes;
}

std::string zstd_of(const std::string& plain) {
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 1));
  return packed;
}

PerfInput test_input(const std::string& data, const std::vector<std::string>& threads) {
  PerfInput input{"perf.data", file_in_memory(data), {}, file_in_memory("")};
  for (const std::string& content : threads) input.threads.push_back(file_in_memory(content));
  return input;
}

uint64_t loss_count(const Snapshot& snapshot, const std::string& name) {
  for (const Loss& loss : snapshot.losses) {
    if (loss.name == name) return loss.count;
  }
  return 0;
}

}  // namespace fathom::snapshot::perf
