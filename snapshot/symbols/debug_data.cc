#include "snapshot/symbols/debug_data.h"

#include <lzma.h>

#include <algorithm>

namespace fathom::snapshot {
namespace {

constexpr uint64_t kMostDecoderBytes = 128u << 20;

struct LzmaStream {
  lzma_stream state = LZMA_STREAM_INIT;
  ~LzmaStream() { lzma_end(&state); }
};

// Bytes are asked for only as the input has grounds for them.
void make_room(std::string& out, lzma_stream& state, uint64_t most_bytes) {
  const size_t used = out.size() - state.avail_out;
  out.resize(std::min<uint64_t>(std::max<uint64_t>(out.size() * 2, 64 << 10), most_bytes));
  state.next_out = reinterpret_cast<uint8_t*>(out.data()) + used;
  state.avail_out = out.size() - used;
}

}  // namespace

Result<std::string> unpack_debug_data(std::string_view packed, uint64_t most_bytes) {
  LzmaStream stream;
  lzma_stream& state = stream.state;
  if (lzma_stream_decoder(&state, kMostDecoderBytes, 0) != LZMA_OK) return internal("cannot unpack .gnu_debugdata");
  state.next_in = reinterpret_cast<const uint8_t*>(packed.data());
  state.avail_in = packed.size();
  std::string out;
  lzma_ret status = LZMA_OK;
  while (status == LZMA_OK) {
    if (state.avail_out == 0 && out.size() >= most_bytes) return exhausted(".gnu_debugdata unpacks to too much");
    if (state.avail_out == 0) make_room(out, state, most_bytes);
    status = lzma_code(&state, LZMA_FINISH);
  }
  if (status != LZMA_STREAM_END) return corrupt(".gnu_debugdata cannot be unpacked");
  out.resize(out.size() - state.avail_out);
  return out;
}

}  // namespace fathom::snapshot
