#include "net/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <cassert>

namespace fathom::net {

namespace {

constexpr uint64_t kStep = 64 * 1024;
constexpr int kAnyHeader = 15 + 32;  // the largest window; zlib tells gzip from zlib by itself
constexpr int kGzipHeader = 15 + 16;
constexpr size_t kMaxPadding = 64 * 1024;
constexpr uint64_t kMaxStep = uint64_t{1} << 30;  // zlib counts in 32 bits

Bytef* bytes_of(const char* data) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(data));
}

// One decompression: the stream, what has come out, and what may.
class Inflater {
 public:
  Inflater(std::string_view in, uint64_t max_bytes, const std::function<bool(uint64_t)>& grow)
      : rest_(in), is_gzip_(in.starts_with("\x1f\x8b")), max_bytes_(max_bytes), grow_(grow) {
    ready_ = inflateInit2(&stream_, kAnyHeader) == Z_OK;
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }

  // gzip files may be several members, one after another; they come out as one.
  Result<std::string> run() {
    if (!ready_) return unavailable("no memory to decompress");
    do {
      if (auto member = inflate_member(); !member) return member.error();
    } while (!rest_.empty() && !is_padding() && inflateReset(&stream_) == Z_OK);
    out_.resize(used_);
    return std::move(out_);
  }

 private:
  // Zeros that fill up a block behind the last member, which gzip(1) overlooks, too.
  bool is_padding() const {
    return is_gzip_ && rest_.size() <= kMaxPadding && rest_.find_first_not_of('\0') == std::string_view::npos;
  }

  Result<> inflate_member() {
    for (;;) {
      if (auto room = make_room(); !room) return room;
      uint64_t take = std::min<uint64_t>(rest_.size(), kMaxStep);
      uint64_t room = std::min<uint64_t>(out_.size() - used_, kMaxStep);
      stream_.next_in = bytes_of(rest_.data());
      stream_.avail_in = static_cast<uInt>(take);
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data() + used_);
      stream_.avail_out = static_cast<uInt>(room);
      int state = inflate(&stream_, Z_NO_FLUSH);
      rest_.remove_prefix(take - stream_.avail_in);
      used_ += room - stream_.avail_out;
      if (state == Z_STREAM_END) return {};
      if (state != Z_OK && state != Z_BUF_ERROR) return invalid("the body is not gzip, or is damaged");
      if (rest_.empty() && stream_.avail_out > 0) return invalid("the gzip body ends too early");
    }
  }

  // One byte beyond the limit is room enough to see that there is more.
  Result<> make_room() {
    if (used_ < out_.size()) return {};
    if (used_ > max_bytes_) {
      return exhausted("the body is larger than " + std::to_string(max_bytes_) + " bytes when decompressed");
    }
    uint64_t step = std::min(std::max(kStep, out_.size()), max_bytes_ + 1 - used_);
    if (grow_ && !grow_(step)) return unavailable("no memory for this body now");
    out_.resize(out_.size() + step);
    return {};
  }

  z_stream stream_{};
  std::string_view rest_;
  const bool is_gzip_;
  const uint64_t max_bytes_;
  const std::function<bool(uint64_t)>& grow_;
  std::string out_;
  uint64_t used_ = 0;
  bool ready_ = false;
};

}  // namespace

Result<std::string> gunzip(std::string_view in, uint64_t max_bytes, const std::function<bool(uint64_t)>& grow) {
  auto out = Inflater(in, max_bytes, grow).run();
  if (out.ok() && out->size() > max_bytes) {
    return exhausted("the body is larger than " + std::to_string(max_bytes) + " bytes when decompressed");
  }
  return out;
}

std::string gzip(std::string_view in, int level) {
  assert(in.size() < kMaxStep);
  z_stream stream{};
  [[maybe_unused]] int state = deflateInit2(&stream, level, Z_DEFLATED, kGzipHeader, 8, Z_DEFAULT_STRATEGY);
  assert(state == Z_OK);
  std::string out(deflateBound(&stream, in.size()), '\0');
  stream.next_in = bytes_of(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  state = deflate(&stream, Z_FINISH);
  assert(state == Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

struct GzipStream::Stream {
  z_stream zlib{};
};

GzipStream::GzipStream(int level) : stream_(std::make_unique<Stream>()) {
  [[maybe_unused]] const int state =
      deflateInit2(&stream_->zlib, level, Z_DEFLATED, kGzipHeader, 8, Z_DEFAULT_STRATEGY);
  assert(state == Z_OK);
}

GzipStream::~GzipStream() {
  deflateEnd(&stream_->zlib);
}

std::string GzipStream::add(std::string_view piece, bool is_last) {
  assert(piece.size() < kMaxStep);
  z_stream& zlib = stream_->zlib;
  zlib.next_in = bytes_of(piece.data());
  zlib.avail_in = static_cast<uInt>(piece.size());
  std::string out;
  size_t used = 0;
  do {
    out.resize(used + kStep);
    zlib.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    zlib.avail_out = static_cast<uInt>(kStep);
    deflate(&zlib, is_last ? Z_FINISH : Z_NO_FLUSH);
    used += kStep - zlib.avail_out;
  } while (zlib.avail_out == 0);
  out.resize(used);
  return out;
}

}  // namespace fathom::net
