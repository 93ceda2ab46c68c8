// gzip for HTTP bodies and gRPC-like payloads, with a limit on what comes out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::net {

// kExhausted when the output would pass `max_bytes`; kInvalid when `in` is not gzip (or zlib); kUnavailable when `grow`
// refuses. `grow(n)` is asked before each further n bytes of output are taken. Up to 64 KiB of zeros behind a gzip body
// are overlooked, as gzip(1) does.
Result<std::string> gunzip(std::string_view in, uint64_t max_bytes, const std::function<bool(uint64_t)>& grow);
std::string gzip(std::string_view in, int level = 6);

// The same, piece by piece. Thread safety: one thread at a time.
class GzipStream {
 public:
  explicit GzipStream(int level = 6);
  ~GzipStream();
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  // What comes out by now, which may be nothing; all of it with the last piece.
  std::string add(std::string_view piece, bool is_last);

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace fathom::net
