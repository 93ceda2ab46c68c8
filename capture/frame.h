// The frame of a capture's bytes: magic, version, size, checksum, and the body as one zstd frame.
//
// Thread safety: pure functions. Errors: open_frame() treats its input as hostile; see decode.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::capture {

std::string seal_frame(std::string_view body);

struct Body {
  std::unique_ptr<char[]> memory;
  size_t size = 0;
  std::string_view view() const { return {memory.get(), size}; }
};
// kExhausted beyond `most_bytes`.
Result<Body> open_frame(std::string_view bytes, uint64_t most_bytes);

}  // namespace fathom::capture
