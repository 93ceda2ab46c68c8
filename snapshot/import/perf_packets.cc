#include "snapshot/import/perf_packets.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/whole_io.h"
#include "snapshot/import/draft.h"

namespace fathom::snapshot::perf {
namespace {

constexpr uint64_t kPaddingBytes = 7;
constexpr uint64_t kPacketWindowBytes = 1 << 20;
constexpr size_t kPsbBytes = 16;
// A synchronisation point and what follows it: TSC and more, so that it stands once in a recording.
constexpr size_t kMarkBytes = 64;
constexpr const char* kWhat = "cannot read the packets of a perf.data";

Result<std::string> read_at(const Fd& file, uint64_t at, uint64_t bytes) {
  std::string content(bytes, '\0');
  auto got = read_whole(file.get(), at, {reinterpret_cast<uint8_t*>(content.data()), content.size()}, kWhat);
  if (!got) return got.error();
  return content;
}

std::string psb() {
  std::string bytes;
  while (bytes.size() < kPsbBytes) bytes += "\x02\x82";
  return bytes;
}

// The last synchronisation point of a chunk that has a whole mark behind it.
Result<std::optional<uint64_t>> last_mark(const Fd& file, const PacketChunk& chunk) {
  if (chunk.bytes < kMarkBytes) return std::optional<uint64_t>();
  for (uint64_t end = chunk.bytes; end > 0;) {
    const uint64_t begin = end > kPacketWindowBytes ? end - kPacketWindowBytes : 0;
    auto window = read_at(file, chunk.file_offset + begin, std::min(chunk.bytes, end + kPsbBytes) - begin);
    if (!window) return window.error();
    for (size_t at = window->rfind(psb()); at != std::string::npos;
         at = at == 0 ? std::string::npos : window->rfind(psb(), at - 1)) {
      if (begin + at + kMarkBytes <= chunk.bytes) return std::optional<uint64_t>(begin + at);
    }
    end = begin;
  }
  return std::optional<uint64_t>();
}

// Bytes of a file.
struct Place {
  const Fd& file;
  uint64_t at = 0;
};

Result<bool> equal_bytes(const Place& left, const Place& right, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes; done += kPacketWindowBytes) {
    const uint64_t some = std::min(kPacketWindowBytes, bytes - done);
    auto one = read_at(left.file, left.at + done, some);
    if (!one) return one.error();
    auto other = read_at(right.file, right.at + done, some);
    if (!other) return other.error();
    if (*one != *other) return false;
  }
  return true;
}

// perf's padding of a chunk; its last packets may be zeros themselves, which say nothing and may go as well.
Result<uint64_t> bytes_without_padding(const Fd& file, const PacketChunk& chunk) {
  const uint64_t looked_at = std::min(chunk.bytes, kPaddingBytes);
  auto end = read_at(file, chunk.file_offset + chunk.bytes - looked_at, looked_at);
  if (!end) return end.error();
  const size_t last = end->find_last_not_of('\0');
  return chunk.bytes - (last == std::string::npos ? looked_at : looked_at - 1 - last);
}

// One stream's chunks, in order.
class StreamCopy {
 public:
  Result<> add(const PerfInput& input, PacketChunk chunk, SnapshotWriter& writer, CopyMeter& meter) {
    const Fd& file = input.file(chunk.source);
    uint64_t skipped = 0;
    if (chunk.is_copy) {
      auto bytes = bytes_without_padding(file, chunk);
      if (!bytes) return bytes.error();
      chunk.bytes = *bytes;
      auto repeated = place_ring_copy(input, chunk);
      if (!repeated) return repeated.error();
      skipped = *repeated;
    } else {
      skipped = held_back(chunk);
    }
    last_ = chunk;
    return copy_packets(file, chunk.file_offset + skipped, chunk.bytes - skipped, chunk.stream, chunk.offset + skipped,
                        writer, meter);
  }

  // Of a chunk whose successor is known: padding is what reaches into it.
  static uint64_t without_overlap(const PacketChunk& chunk, const PacketChunk& next) {
    const bool reaches = next.offset > chunk.offset && chunk.offset + chunk.bytes > next.offset;
    const uint64_t over = reaches ? chunk.offset + chunk.bytes - next.offset : 0;
    return over <= kPaddingBytes ? chunk.bytes - over : chunk.bytes;
  }

 private:
  // What a chunk of a recording in full repeats of the one before: offsets say it.
  uint64_t held_back(const PacketChunk& chunk) const {
    if (!last_ || chunk.offset < last_->offset) return 0;
    const uint64_t end = last_->offset + last_->bytes;
    return chunk.offset < end ? std::min(end - chunk.offset, chunk.bytes) : 0;
  }

  // Offsets in a ring do not count on: a copy begins where what it repeats began, or behind a hole.
  Result<uint64_t> place_ring_copy(const PerfInput& input, PacketChunk& chunk) {
    if (!last_) chunk.offset = 0;
    if (!last_) return uint64_t{0};
    auto repeated = repeated_bytes(input, *last_, chunk);
    if (!repeated) return repeated;
    const uint64_t end = last_->offset + last_->bytes;
    chunk.offset = *repeated > 0 ? end - *repeated : end + 1;
    return repeated;
  }

  std::optional<PacketChunk> last_;
};

}  // namespace

Result<uint64_t> repeated_bytes(const PerfInput& input, const PacketChunk& earlier, const PacketChunk& later) {
  const Fd& earlier_file = input.file(earlier.source);
  const Fd& later_file = input.file(later.source);
  auto at = last_mark(earlier_file, earlier);
  if (!at) return at.error();
  if (!*at) return uint64_t{0};
  const uint64_t tail = earlier.bytes - **at;  // from the mark to the end
  auto mark = read_at(earlier_file, earlier.file_offset + **at, kMarkBytes);
  if (!mark) return mark.error();
  for (uint64_t begin = 0; begin + kMarkBytes <= later.bytes; begin += kPacketWindowBytes) {
    auto window = read_at(later_file, later.file_offset + begin,
                          std::min(kPacketWindowBytes + kMarkBytes - 1, later.bytes - begin));
    if (!window) return window.error();
    const size_t found = window->find(*mark);
    if (found == std::string::npos) continue;
    const uint64_t repeated = begin + found + tail;
    if (repeated > later.bytes || repeated > earlier.bytes) return uint64_t{0};
    const Place end{earlier_file, earlier.file_offset + earlier.bytes - repeated};
    auto same = equal_bytes(end, {later_file, later.file_offset}, repeated);
    if (!same) return same.error();
    return *same ? repeated : 0;
  }
  return uint64_t{0};
}

Result<> copy_chunks(const PerfInput& input, PerfRecording& recording, SnapshotWriter& writer,
                     const ByteProgress& progress) {
  std::vector<StreamCopy> copies(recording.snapshot.streams.size());
  std::vector<PacketChunk*> previous(copies.size(), nullptr);
  for (PacketChunk& chunk : recording.chunks) {
    PacketChunk*& before = previous[chunk.stream];
    if (before != nullptr && !chunk.is_copy) before->bytes = StreamCopy::without_overlap(*before, chunk);
    before = &chunk;
  }
  uint64_t all_bytes = 0;
  for (const PacketChunk& chunk : recording.chunks) all_bytes += chunk.bytes;
  CopyMeter meter(progress, all_bytes);
  for (const PacketChunk& chunk : recording.chunks) {
    if (auto copied = copies[chunk.stream].add(input, chunk, writer, meter); !copied) return copied;
  }
  return {};
}

}  // namespace fathom::snapshot::perf
