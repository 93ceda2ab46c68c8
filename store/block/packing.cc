#include "store/block/packing.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "base/hash.h"

namespace fathom::store::block {

namespace {

enum Method : uint8_t { kRaw = 0, kZstd = 1, kRepeat = 2 };

// A stream is compressed only when that saves a quarter: the rest is not worth the time of unpacking it, which every
// search does again.
// zstd's own header eats what less than this could save.
constexpr size_t kSmallestForZstd = 24;
constexpr size_t kKeptPlaneBytes = 64 * 1024;

bool all_equal(std::string_view bytes) {
  return bytes.size() > 1 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

// Compares the number of equal byte pairs with what random bytes would have.
bool looks_random(std::string_view bytes) {
  if (bytes.size() < 512) return false;
  std::array<uint32_t, 256> counts{};
  for (char byte : bytes) ++counts[static_cast<uint8_t>(byte)];
  uint64_t pairs = 0;
  for (uint64_t count : counts) pairs += count * count;
  uint64_t expected = bytes.size() * bytes.size() / 256 + bytes.size();
  return pairs < expected + expected / 16;
}

ZSTD_DCtx* decompressor() {
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  thread_local std::unique_ptr<ZSTD_DCtx, Free> context(ZSTD_createDCtx());
  return context.get();
}

// Puts values together from their `kWidth` planes, least significant first.
template <size_t kWidth, typename T>
void assemble(const std::array<const uint8_t*, 8>& planes, T base, std::vector<T>& out) {
  std::array<const uint8_t*, 8> plane = planes;
  T* values = out.data();
  for (size_t i = 0; i < out.size(); ++i) {
    uint64_t value = 0;
    for (size_t p = 0; p < kWidth; ++p) value |= uint64_t{plane[p][i]} << (8 * p);
    values[i] = static_cast<T>(base + static_cast<T>(value));
  }
}

template <typename T>
void assemble(size_t width, const std::array<const uint8_t*, 8>& planes, T base, std::vector<T>& out) {
  switch (width) {
    case 1:
      return assemble<1>(planes, base, out);
    case 2:
      return assemble<2>(planes, base, out);
    case 3:
      return assemble<3>(planes, base, out);
    case 4:
      return assemble<4>(planes, base, out);
    case 5:
      return assemble<5>(planes, base, out);
    case 6:
      return assemble<6>(planes, base, out);
    case 7:
      return assemble<7>(planes, base, out);
    case 8:
      return assemble<8>(planes, base, out);
    default:
      return;
  }
}

// Whether base + any value of `width` bytes could leave T; a decoder only then looks at each value.
template <typename T>
bool sums_fit(uint64_t base, size_t width, const std::vector<T>& out) {
  if constexpr (sizeof(T) == 8) return true;
  if (width < sizeof(T) && base <= std::numeric_limits<T>::max() - ((uint64_t{1} << (8 * width)) - 1)) return true;
  return std::all_of(out.begin(), out.end(), [&](T value) { return value >= base; });
}

// Where a thread unpacks the planes of integers. It keeps the memory of ordinary blocks, not that of the largest.
struct PlaneBuffers {
  std::array<std::string, 8> buffers;

  void give_back_large() {
    for (std::string& buffer : buffers) {
      if (buffer.capacity() > kKeptPlaneBytes) std::string().swap(buffer);
    }
  }
};

uint32_t checksum(std::string_view body, uint8_t version) {
  return static_cast<uint32_t>(hash64(body, version));
}

}  // namespace

Packer::Packer(int zstd_level) : context_(ZSTD_createCCtx()) {
  ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, zstd_level);
}

Packer::~Packer() {
  ZSTD_freeCCtx(context_);
}

void Packer::plane(std::string& out, std::string_view bytes) {
  stream(out, bytes, !looks_random(bytes));
}

void Packer::blob(std::string& out, std::string_view bytes) {
  ByteWriter(out).varint(bytes.size());
  stream(out, bytes, true);
}

void Packer::random_blob(std::string& out, std::string_view bytes) {
  ByteWriter(out).varint(bytes.size());
  plane(out, bytes);
}

void Packer::stream(std::string& out, std::string_view bytes, bool try_zstd) {
  if (bytes.size() > kMaxStreamBytes) within_limits_ = false;
  ByteWriter writer(out);
  if (all_equal(bytes)) {
    writer.u8(kRepeat);
    writer.u8(static_cast<uint8_t>(bytes[0]));
    return;
  }
  if (try_zstd && bytes.size() >= kSmallestForZstd) {
    packed_.resize(ZSTD_compressBound(bytes.size()));
    size_t size = ZSTD_compress2(context_, packed_.data(), packed_.size(), bytes.data(), bytes.size());
    if (!ZSTD_isError(size) && size + bytes.size() / 4 < bytes.size()) {
      writer.u8(kZstd);
      writer.varint(size);
      writer.raw(std::string_view(packed_).substr(0, size));
      return;
    }
  }
  writer.u8(kRaw);
  writer.raw(bytes);
}

void Packer::ints(std::string& out, std::span<const uint64_t> values) {
  if (values.empty()) return;
  if (values.size() > kMaxEntries) within_limits_ = false;
  auto [least, most] = std::minmax_element(values.begin(), values.end());
  uint64_t base = *least;
  size_t width = (static_cast<size_t>(std::bit_width(*most - base)) + 7) / 8;
  ByteWriter writer(out);
  writer.u8(static_cast<uint8_t>(width));
  writer.varint(base);
  plane_.resize(values.size());
  for (size_t shift = 0; shift < 8 * width; shift += 8) {
    for (size_t i = 0; i < values.size(); ++i) plane_[i] = static_cast<char>((values[i] - base) >> shift);
    plane(out, plane_);
  }
}

void Packer::ints(std::string& out, std::span<const uint32_t> values) {
  widened_.assign(values.begin(), values.end());
  ints(out, std::span<const uint64_t>(widened_));
}

bool read_stream(ChunkReader& in, size_t size, Stream& out) {
  out.method = in.u8();
  out.size = size;
  if (out.method > kRepeat || size > kMaxStreamBytes) in.fail();
  size_t stored = size;
  if (out.method == kZstd) stored = in.varint();
  if (out.method == kRepeat) stored = 1;
  out.bytes = in.raw(stored);
  return !in.failed();
}

bool unpack(ChunkReader& in, const Stream& stream, std::string& buffer, std::string_view& out) {
  if (stream.method == kRaw) {
    out = stream.bytes;
    return true;
  }
  if (!in.take(stream.size)) return false;
  if (stream.method == kRepeat) {
    buffer.assign(stream.size, stream.bytes[0]);
  } else {
    // The frame's own word for its size is checked before memory is taken for it.
    if (ZSTD_getFrameContentSize(stream.bytes.data(), stream.bytes.size()) != stream.size) return false;
    buffer.resize(stream.size);
    size_t size =
        ZSTD_decompressDCtx(decompressor(), buffer.data(), buffer.size(), stream.bytes.data(), stream.bytes.size());
    if (ZSTD_isError(size) || size != stream.size) return false;
  }
  out = buffer;
  return true;
}

bool read_blob(ChunkReader& in, Stream& out) {
  uint64_t size = in.varint();
  return !in.failed() && read_stream(in, size, out);
}

template <typename T>
bool read_ints(ChunkReader& in, size_t count, std::vector<T>& out) {
  out.clear();
  if (count == 0) return true;
  size_t width = in.u8();
  uint64_t base = in.varint();
  if (width > sizeof(T) || base > std::numeric_limits<T>::max() || count > kMaxEntries) in.fail();
  if (in.failed()) return false;
  if (!in.take_array<T>(count)) return false;
  out.assign(count, static_cast<T>(base));
  thread_local PlaneBuffers planes_of_thread;
  planes_of_thread.give_back_large();
  std::array<std::string, 8>& buffers = planes_of_thread.buffers;
  std::array<const uint8_t*, 8> planes{};
  for (size_t i = 0; i < width; ++i) {
    Stream stream;
    std::string_view plane;
    if (!read_stream(in, count, stream) || !unpack(in, stream, buffers[i], plane)) return in.fail() != 0;
    planes[i] = reinterpret_cast<const uint8_t*>(plane.data());
  }
  assemble(width, planes, static_cast<T>(base), out);
  return sums_fit(base, width, out) || in.fail() != 0;
}

template bool read_ints<uint8_t>(ChunkReader&, size_t, std::vector<uint8_t>&);
template bool read_ints<uint32_t>(ChunkReader&, size_t, std::vector<uint32_t>&);
template bool read_ints<uint64_t>(ChunkReader&, size_t, std::vector<uint64_t>&);

bool skip_ints(ChunkReader& in, size_t count) {
  if (count == 0) return true;
  size_t width = in.u8();
  in.varint();
  if (width > 8) in.fail();
  for (size_t i = 0; i < width && !in.failed(); ++i) {
    Stream stream;
    read_stream(in, count, stream);
  }
  return !in.failed();
}

std::string seal_chunk(std::string_view body) {
  std::string chunk;
  chunk.reserve(body.size() + 5);
  ByteWriter out(chunk);
  out.u8(kVersion);
  out.u32(checksum(body, kVersion));
  out.raw(body);
  return chunk;
}

Result<std::string_view> open_chunk(std::string_view chunk) {
  ChunkReader in(chunk);
  uint8_t version = in.u8();
  uint32_t sum = in.u32();
  if (in.failed()) return damaged("frame");
  if (version == 0 || version > kVersion) return corrupt("a segment's chunk has version " + std::to_string(version));
  std::string_view body = in.raw(in.remaining());
  if (checksum(body, version) != sum) return damaged("checksum");
  return body;
}

Error damaged(std::string_view what) {
  return corrupt("a segment's chunk is damaged: " + std::string(what));
}

}  // namespace fathom::store::block
