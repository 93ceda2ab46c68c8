// Streams and integer arrays: the two shapes that every chunk of the block format is made of, and the frame around
// them.
//
// A *stream* is bytes of a size that the reader already knows: raw, one repeated byte, or one zstd frame, whichever is
// smallest. *Integers* are a base (their minimum) and byte planes, each a stream of its own, so that random low bytes
// do not spoil the entropy coding of regular high ones. Thread safety: a Packer belongs to one thread; the readers are
// functions. Errors: input is hostile; a reader that meets nonsense, or memory that
// the query may not have, fails its ChunkReader and returns false.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/block/chunk_reader.h"
#include "store/block/layout.h"

struct ZSTD_CCtx_s;

namespace fathom::store::block {

// Writes streams with one reused compression context.
class Packer {
 public:
  explicit Packer(int zstd_level);
  ~Packer();

  // Bytes without inner order (one plane of integers): compression is not even tried when they look random.
  void plane(std::string& out, std::string_view bytes);
  // Text, preceded by its size.
  void blob(std::string& out, std::string_view bytes);
  // Ids, preceded by their size: as a plane.
  void random_blob(std::string& out, std::string_view bytes);
  void ints(std::string& out, std::span<const uint64_t> values);
  void ints(std::string& out, std::span<const uint32_t> values);
  // Whether everything stayed within the format's limits.
  bool within_limits() const { return within_limits_; }

 private:
  void stream(std::string& out, std::string_view bytes, bool try_zstd);

  ZSTD_CCtx_s* context_;
  std::string packed_;
  std::vector<uint64_t> widened_;
  std::string plane_;
  bool within_limits_ = true;
};

// A stream as it lies in the chunk, not yet unpacked.
struct Stream {
  uint8_t method = 0;
  size_t size = 0;  // unpacked
  std::string_view bytes;
};

bool read_stream(ChunkReader& in, size_t size, Stream& out);
// The unpacked bytes: a view of the chunk when they are stored raw, else of `buffer`, which is charged first.
bool unpack(ChunkReader& in, const Stream& stream, std::string& buffer, std::string_view& out);
bool read_blob(ChunkReader& in, Stream& out);

// Exactly `count` integers; values that do not fit T fail.
template <typename T>
bool read_ints(ChunkReader& in, size_t count, std::vector<T>& out);
bool skip_ints(ChunkReader& in, size_t count);
// A count that the format allows.
inline uint32_t read_entries(ChunkReader& in, uint32_t limit = kMaxEntries) {
  uint64_t count = in.varint();
  return static_cast<uint32_t>(count > limit ? in.fail() : count);
}

// The frame: version, checksum, body.
std::string seal_chunk(std::string_view body);
Result<std::string_view> open_chunk(std::string_view chunk);

}  // namespace fathom::store::block
