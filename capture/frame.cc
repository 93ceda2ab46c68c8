#include "capture/frame.h"

#include <zstd.h>

#include "base/bytes.h"
#include "capture/format.h"

namespace fathom::capture {

namespace {

using namespace format;

constexpr int kZstdLevel = 1;  // the agent compresses while a trigger waits
// From this size on, another thread compresses while the caller encodes.
constexpr size_t kLargeBytes = 2 << 20;

Error damaged(std::string_view what) {
  return corrupt("the capture's frame is damaged: " + std::string(what));
}

std::string head_of_frame(uint64_t body_bytes) {
  std::string head(kMagic);
  ByteWriter out(head);
  out.u8(kVersion);
  out.u64(body_bytes);
  return head;
}

Result<> check_version(uint8_t version) {
  if (version == kVersion) return {};
  std::string reads = "; this program reads " + std::to_string(kVersion);
  if (version > kVersion)
    return Error{ErrorCode::kUnsupported,
                 "the capture has version " + std::to_string(version) + reads + ": use a newer one"};
  return Error{ErrorCode::kUnsupported,
               "the capture has version " + std::to_string(version) + ", which was never released" + reads};
}

}  // namespace

void FrameWriter::FreeContext::operator()(ZSTD_CCtx_s* context) const {
  ZSTD_freeCCtx(context);
}

FrameWriter::FrameWriter(size_t likely_bytes)
    : frame_(head_of_frame(0)),
      context_(ZSTD_createCCtx()),
      packed_bytes_(ZSTD_CStreamOutSize()),
      packed_(std::make_unique_for_overwrite<char[]>(packed_bytes_)) {
  if (context_ == nullptr) fault_ = "no memory";
  if (context_ == nullptr) return;
  frame_.reserve(likely_bytes);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kZstdLevel);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  if (likely_bytes >= kLargeBytes) start_thread();
}

// If that fails, the caller's thread compresses.
void FrameWriter::start_thread() {
  thread_ = std::make_unique<PieceThread>([this](std::string_view piece) { compress(piece, false); });
  if (!thread_->start()) thread_.reset();
}

FrameWriter::~FrameWriter() = default;

void FrameWriter::compress(std::string_view bytes, bool is_end) {
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  size_t left = 0;
  if (!fault_.empty()) return;
  do {
    ZSTD_outBuffer out{packed_.get(), packed_bytes_, 0};
    left = ZSTD_compressStream2(context_.get(), &out, &in, is_end ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left)) fault_ = ZSTD_getErrorName(left);
    if (ZSTD_isError(left)) return;
    frame_.append(packed_.get(), out.pos);
  } while (is_end ? left != 0 : in.pos < in.size);
}

void FrameWriter::take(std::string_view bytes) {
  thread_ ? thread_->append(bytes) : compress(bytes, false);
}

Result<std::string> FrameWriter::finish() {
  if (thread_) thread_->finish();
  compress({}, true);
  if (!fault_.empty()) return exhausted("the capture cannot be compressed: " + fault_);
  frame_.replace(0, kFrameHeadBytes, head_of_frame(bytes()));
  return std::move(frame_);
}

Result<Body> open_frame(std::string_view bytes, uint64_t most_bytes) {
  ByteReader in(bytes);
  if (in.raw(kMagic.size()) != kMagic) return invalid("this is no capture: its first bytes are others");
  uint8_t version = in.u8();
  if (in.failed()) return damaged("head");
  if (Result<> known = check_version(version); !known) return known.error();
  uint64_t size = in.u64();
  if (in.failed()) return damaged("head");
  if (size > most_bytes) {
    return exhausted("the capture has " + std::to_string(size) + " bytes uncompressed; " + std::to_string(most_bytes) +
                     " are the most");
  }
  std::string_view packed = in.raw(in.remaining());
  Body body{std::make_unique_for_overwrite<char[]>(size), size};
  size_t got = ZSTD_decompress(body.memory.get(), size, packed.data(), packed.size());
  if (ZSTD_isError(got)) return damaged("compression");
  if (got != size) return damaged("size");
  return body;
}

}  // namespace fathom::capture
