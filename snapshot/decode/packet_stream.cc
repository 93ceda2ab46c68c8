#include "snapshot/decode/packet_stream.h"

#include <algorithm>

#include "snapshot/decode/psb.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kWindowBytes = 64 << 10;

// Where the first PSB at or behind `from` begins; the stretch's size when there is none.
Result<uint64_t> next_psb(const PacketStream& packets, size_t stretch, uint64_t from) {
  const uint64_t size = packets.bytes(stretch);
  std::vector<uint8_t> window;
  while (from < size) {
    window.resize(std::min(kWindowBytes, size - from));
    if (auto got = packets.read(stretch, from, window); !got) return got.error();
    const size_t found = find_psb(window, 0);
    const bool end = from + window.size() == size;
    if (found + kPsbScanBytes <= window.size() || end) return from + found;
    from += std::min(found, window.size() - (kPsbScanBytes - 1));  // one may lie across the windows' border
  }
  return size;
}

class Cutter {
 public:
  Cutter(const PacketStream& packets, size_t stream, uint64_t part_bytes)
      : packets_(packets), stream_(stream), part_bytes_(std::clamp<uint64_t>(part_bytes, 1, kMostPartBytes)) {}

  Result<std::vector<StreamPart>> cut() {
    for (size_t stretch = 0; stretch < packets_.stretches(); ++stretch) {
      if (auto done = cut_stretch(stretch); !done) return done.error();
    }
    for (size_t at = 1; at < parts_.size(); ++at) parts_[at - 1].end_tsc = parts_[at].first_tsc;
    if (parts_.empty()) return std::move(parts_);
    parts_.front().first = true;
    parts_.back().last = true;
    return std::move(parts_);
  }

 private:
  Result<> cut_stretch(size_t stretch) {
    auto first = next_psb(packets_, stretch, 0);
    if (!first) return first.error();
    const uint64_t size = packets_.bytes(stretch);
    StreamPart part;
    part.stream = stream_;
    part.stretch = stretch;
    part.begin = part.end = *first;
    part.stretch_bytes = size;
    part.behind_loss = stretch > 0;
    part.skipped = *first;
    part.first_tsc = last_tsc_;
    if (*first == size) {
      parts_.push_back(part);
      return {};
    }
    while (part.begin < size) {
      auto end = next_psb(packets_, stretch, std::min(size, part.begin + part_bytes_));
      if (!end) return end.error();
      part.end = *end;
      if (auto timed = read_time(part); !timed) return timed.error();
      parts_.push_back(part);
      part.begin = part.end;
      part.behind_loss = false;
      part.skipped = 0;
    }
    return {};
  }

  Result<> read_time(StreamPart& part) {
    std::vector<uint8_t> window(std::min<uint64_t>(kMostPsbHeaderBytes, part.stretch_bytes - part.begin));
    if (auto got = packets_.read(part.stretch, part.begin, window); !got) return got.error();
    last_tsc_ = std::max(last_tsc_, read_psb_header(window).tsc.value_or(0));
    part.first_tsc = last_tsc_;
    return {};
  }

  const PacketStream& packets_;
  size_t stream_;
  uint64_t part_bytes_;
  uint64_t last_tsc_ = 0;
  std::vector<StreamPart> parts_;
};

}  // namespace

PacketStream::PacketStream(const SnapshotFile& file, size_t stream) : file_(file) {
  uint64_t expected = 0;
  for (const auto& piece : file.snapshot().streams[stream].pieces) {
    if (piece.bytes == 0) continue;
    if (stretches_.empty() || piece.offset != expected) stretches_.emplace_back();
    Stretch& stretch = stretches_.back();
    stretch.pieces.push_back({stretch.bytes, piece.file_offset, piece.bytes});
    stretch.bytes += piece.bytes;
    expected = piece.offset + piece.bytes;
  }
}

Result<> PacketStream::read(size_t stretch, uint64_t offset, std::span<uint8_t> bytes) const {
  const auto& pieces = stretches_[stretch].pieces;
  auto at = std::upper_bound(pieces.begin(), pieces.end(), offset,
                             [](uint64_t wanted, const Placed& piece) { return wanted < piece.offset; });
  for (--at; !bytes.empty(); ++at) {
    const uint64_t inside = offset - at->offset;
    const size_t size = std::min<uint64_t>(bytes.size(), at->bytes - inside);
    if (auto got = file_.read(at->file_offset + inside, bytes.first(size)); !got) return got;
    offset += size;
    bytes = bytes.subspan(size);
  }
  return {};
}

Result<std::vector<StreamPart>> cut_stream(const PacketStream& packets, size_t stream, uint64_t part_bytes) {
  return Cutter(packets, stream, part_bytes).cut();
}

}  // namespace fathom::snapshot
