#include "capture/frame.h"

#include <zstd.h>

#include <new>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/large_pages.h"
#include "capture/format.h"

namespace fathom::capture {

namespace {

using namespace format;

constexpr int kZstdLevel = 1;  // the agent compresses while a trigger waits

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

Error damaged(std::string_view what) {
  return corrupt("the capture's frame is damaged: " + std::string(what));
}

}  // namespace

std::string seal_frame(std::string_view body) {
  std::string head(kMagic);
  ByteWriter out(head);
  out.u8(kVersion);
  out.varint(body.size());
  out.u64(hash64(body, kVersion));
  size_t most = ZSTD_compressBound(body.size());
  auto packed = std::make_unique_for_overwrite<char[]>(most);
  prefer_large_pages(packed.get(), most);
  std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  if (context == nullptr) throw std::bad_alloc();
  size_t size = ZSTD_compressCCtx(context.get(), packed.get(), most, body.data(), body.size(), kZstdLevel);
  assert(!ZSTD_isError(size));
  std::string sealed;
  sealed.reserve(head.size() + size);
  return sealed.append(head).append(packed.get(), size);
}

Result<Body> open_frame(std::string_view bytes, uint64_t most_bytes) {
  ByteReader in(bytes);
  if (in.raw(kMagic.size()) != kMagic) return invalid("this is no capture: its first bytes are others");
  uint8_t version = in.u8();
  if (version > kVersion) {
    return Error{ErrorCode::kUnsupported, "the capture has version " + std::to_string(version) +
                                              "; this program reads " + std::to_string(kVersion) + ": use a newer one"};
  }
  uint64_t size = in.varint();
  uint64_t checksum = in.u64();
  if (in.failed() || version == 0) return damaged("head");
  if (size > most_bytes) {
    return exhausted("the capture has " + std::to_string(size) + " bytes uncompressed; " + std::to_string(most_bytes) +
                     " are the most");
  }
  // The frame's own word for its size is checked before memory is taken for it.
  std::string_view packed = in.raw(in.remaining());
  if (ZSTD_getFrameContentSize(packed.data(), packed.size()) != size) return damaged("size");
  Body body{std::make_unique_for_overwrite<char[]>(size), size};
  prefer_large_pages(body.memory.get(), size);
  size_t got = ZSTD_decompress(body.memory.get(), size, packed.data(), packed.size());
  if (ZSTD_isError(got) || got != size) return damaged("compression");
  if (hash64(body.view(), version) != checksum) return damaged("checksum");
  return body;
}

}  // namespace fathom::capture
