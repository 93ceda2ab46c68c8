#include "snapshot/decode/packet_stream.h"

#include <algorithm>

#include "snapshot/decode/psb.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kPsbWindowBytes = 64 << 10;
static_assert(kPsbWindowBytes > kMostPsbHeaderBytes);

// PSBs of a stretch, through a window that moves on.
class PsbFinder {
 public:
  PsbFinder(const PacketStream& packets, size_t stretch)
      : packets_(packets), stretch_(stretch), size_(packets.bytes(stretch)) {}

  // Where the first PSB at or behind `from` begins; the stretch's size when there is none.
  Result<uint64_t> next(uint64_t from) {
    while (from < size_) {
      if (auto got = load(from, kPsbScanBytes); !got) return got.error();
      const auto inside = static_cast<size_t>(from - begin_);
      const size_t found = find_psb(window_, inside);
      const bool end = begin_ + window_.size() == size_;
      if (found + kPsbScanBytes <= window_.size() || end) return begin_ + found;
      // One may lie across the window's border.
      from = begin_ + std::max(inside + 1, std::min(found, window_.size() - (kPsbScanBytes - 1)));
    }
    return size_;
  }

  Result<PsbHeader> header(uint64_t at) {
    if (auto got = load(at, kMostPsbHeaderBytes); !got) return got.error();
    const auto rest = std::span<const uint8_t>(window_).subspan(at - begin_);
    return read_psb_header(rest.first(std::min(rest.size(), kMostPsbHeaderBytes)));
  }

 private:
  Result<> load(uint64_t at, uint64_t bytes) {
    const uint64_t end = std::min(at + bytes, size_);
    if (at >= begin_ && end <= begin_ + window_.size()) return {};
    begin_ = at;
    window_.resize(std::min(kPsbWindowBytes, size_ - at));
    return packets_.read(stretch_, at, window_);
  }

  const PacketStream& packets_;
  const size_t stretch_;
  const uint64_t size_;
  std::vector<uint8_t> window_;
  uint64_t begin_ = 0;
};

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
    PsbFinder finder(packets_, stretch);
    auto first = finder.next(0);
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
      auto header = finder.header(part.begin);
      if (!header) return header.error();
      part.first_tsc = last_tsc_ = std::max(last_tsc_, header->tsc.value_or(0));
      auto end = part_end(part, finder);
      if (!end) return end.error();
      part.end = *end;
      parts_.push_back(part);
      part.begin = part.end;
      part.behind_loss = false;
      part.skipped = 0;
    }
    return {};
  }

  // Where segments end, as PartDecoder has it. A part that would be too large without one ends at some other PSB.
  Result<uint64_t> part_end(const StreamPart& part, PsbFinder& finder) {
    uint64_t known = part.begin, uncertain = part.begin;
    bool records = false;  // in front of `known`
    for (uint64_t at = part.begin + part_bytes_;; ++at) {
      auto found = finder.next(std::min(at, part.stretch_bytes));
      if (!found) return found.error();
      at = *found;
      if (at == part.stretch_bytes) return at;
      if (at - part.begin > kMostPartBytes && uncertain > part.begin) return uncertain;
      uncertain = at;
      auto header = finder.header(at);
      if (!header) return header.error();
      if (!header->complete) continue;
      if (header->ip) return at;
      auto recorded = records_at(part.stretch, known, at, records);
      if (!recorded) return recorded.error();
      if (!*recorded) return at;
      records = true;
      known = at;
    }
  }

  Result<bool> records_at(size_t stretch, uint64_t begin, uint64_t end, bool before) {
    std::vector<uint8_t> bytes(end - begin);
    if (auto got = packets_.read(stretch, begin, bytes); !got) return got.error();
    return records_behind(bytes, before);
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
