// The frame of a capture's bytes: magic, version, size, and the body as one zstd frame with its checksum.
//
// Thread safety: none of FrameWriter, open_frame() is a pure function. Ownership: of their results. Errors: what zstd
// cannot do, for want of memory mostly, is in finish()'s result. open_frame() treats its input as hostile; see
// decode.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "capture/body_sink.h"
#include "capture/piece_thread.h"

struct ZSTD_CCtx_s;

namespace fathom::capture {

// Compresses what comes, as it comes.
class FrameWriter : public BodySink {
 public:
  // `likely_bytes` of the frame: a guess, whose memory costs nothing while it is not used. If it is large, another
  // thread compresses, so that the caller need not wait.
  explicit FrameWriter(size_t likely_bytes = 0);
  ~FrameWriter() override;

  // The frame; nothing may be appended afterwards. kExhausted: it could not be compressed.
  Result<std::string> finish();

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx_s* context) const;
  };

  void take(std::string_view bytes) override;
  void start_thread();
  void compress(std::string_view bytes, bool is_end);

  std::string frame_;
  std::unique_ptr<ZSTD_CCtx_s, FreeContext> context_;
  const size_t packed_bytes_;
  std::unique_ptr<char[]> packed_;
  std::string fault_;                    // the first; then nothing is compressed any more
  std::unique_ptr<PieceThread> thread_;  // until finish(), only it compresses
};

struct Body {
  std::unique_ptr<char[]> memory;
  size_t size = 0;
  std::string_view view() const { return {memory.get(), size}; }
};
// kExhausted beyond `most_bytes`.
Result<Body> open_frame(std::string_view bytes, uint64_t most_bytes);

}  // namespace fathom::capture
