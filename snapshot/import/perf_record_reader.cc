#include "snapshot/import/perf_record_reader.h"

#include <algorithm>
#include <optional>

#include "base/bytes.h"
#include "base/whole_io.h"

namespace fathom::snapshot::perf {
namespace {

constexpr size_t kRecordWindowBytes = 1 << 20;
constexpr uint64_t kCompressed2HeaderBytes = kRecordHeaderBytes + 8;  // and the number of bytes that are compressed
constexpr uint64_t kMostPieceBytes = 65'519;                          // compressed, in one COMPRESSED2
constexpr uint64_t kMostChainBytes = 64 << 20;                        // in several that were written as one

// A part of the file, read through a window that moves on.
class Window {
 public:
  Window(const Fd& file, uint64_t end) : file_(file), end_(end) {}

  // Empty where the file has not as many.
  Result<std::string_view> at(uint64_t offset, size_t count) {
    if (offset > end_ || count > end_ - offset) return std::string_view();
    const bool held = offset >= begin_ && offset + count <= begin_ + window_.size();
    if (!held) {
      window_.resize(std::min<uint64_t>(std::max(count, kRecordWindowBytes), end_ - offset));
      begin_ = offset;
      const std::span<uint8_t> to(reinterpret_cast<uint8_t*>(window_.data()), window_.size());
      if (auto got = read_whole(file_.get(), offset, to, "cannot read a perf.data"); !got) return got.error();
    }
    return std::string_view(window_).substr(offset - begin_, count);
  }

 private:
  const Fd& file_;
  uint64_t end_;
  uint64_t begin_ = 0;
  std::string window_;
};

// The bytes behind a record of this type that belong to it, and are none themselves.
uint64_t bytes_behind(const Record& record) {
  ByteReader in(record.payload);
  if (record.type == kAuxtrace) return in.u64();
  if (record.type == kHeaderTracingData) return (uint64_t{in.u32()} + 7) & ~uint64_t{7};
  return 0;
}

// How many bytes a record has in the file. COMPRESSED2 of perf 6.16 says less than it has, even 0, where its 16 bits
// are not enough for its size and padding; its own number of compressed bytes is right, and no padding is there.
uint64_t bytes_in_file(const RecordHeader& header, std::string_view compressed2) {
  if (header.type != kCompressed2 || compressed2.size() < kCompressed2HeaderBytes) return header.bytes;
  const uint64_t data = ByteReader(compressed2.substr(kRecordHeaderBytes)).u64();
  const bool wrapped = data <= kMostChainBytes && kCompressed2HeaderBytes + data > header.bytes;
  return wrapped ? kCompressed2HeaderBytes + data : header.bytes;
}

// The compressed bytes of COMPRESSED2: one piece, or, where perf wrote several as one, each with its header.
Result<> inflate2(std::string_view payload, RecordInflater& inflater) {
  ByteReader in(payload);
  const uint64_t data = in.u64();
  std::string_view left = in.raw(std::min<uint64_t>(data, in.remaining()));
  if (left.size() <= kMostPieceBytes) return inflater.add(left);
  for (uint64_t piece = kMostPieceBytes; !left.empty();) {
    if (auto added = inflater.add(left.substr(0, piece)); !added) return added;
    left.remove_prefix(std::min<uint64_t>(piece, left.size()));
    if (left.size() < kCompressed2HeaderBytes) break;
    const RecordHeader next = read_record_header(left);
    if (next.type != kCompressed2 || next.bytes < kCompressed2HeaderBytes) break;
    piece = next.bytes - kCompressed2HeaderBytes;
    left.remove_prefix(kCompressed2HeaderBytes);
  }
  return left.empty() ? Result<>() : inflater.add(left);  // which finds out that it is damaged
}

Result<> inflate(const Record& record, RecordInflater& inflater) {
  return record.type == kCompressed ? inflater.add(record.payload) : inflate2(record.payload, inflater);
}

struct FoundRecord {
  std::optional<Record> record;  // whole; nothing when it is damaged, or not all there
  uint64_t bytes = 0;            // that it should have; 0: damaged
};

Result<FoundRecord> record_at(Window& window, uint64_t at, uint64_t end) {
  FoundRecord found;
  auto begin = window.at(at, std::min<uint64_t>(kCompressed2HeaderBytes, end - at));
  if (!begin) return begin.error();
  found.bytes = kRecordHeaderBytes;
  if (begin->size() < kRecordHeaderBytes) return found;
  const RecordHeader header = read_record_header(*begin);
  found.bytes = bytes_in_file(header, *begin);
  if (found.bytes < kRecordHeaderBytes) return FoundRecord();
  auto whole = window.at(at, found.bytes);
  if (!whole) return whole.error();
  if (whole->empty()) return found;
  Record& record = found.record.emplace();
  record.type = header.type;
  record.misc = header.misc;
  record.payload = whole->substr(kRecordHeaderBytes);
  record.payload_offset = at + kRecordHeaderBytes;
  record.data_offset = at + found.bytes;
  return found;
}

}  // namespace

Result<> RecordReader::each(const RecordVisitor& visitor) {
  const uint64_t end = records_.offset + records_.bytes;
  Window window(file_, end);
  RecordInflater inflater(visitor);
  for (uint64_t at = records_.offset; at < end;) {
    auto found = record_at(window, at, end);
    if (!found) return found.error();
    if (!found->record) {
      const bool cut = found->bytes > end - at;
      (cut ? losses_.bytes_cut : losses_.bytes_damaged) = end - at;
      losses_.bytes_missing = cut ? found->bytes - (end - at) : 0;
      break;
    }
    Record& record = *found->record;
    const uint64_t behind = bytes_behind(record);
    record.data_bytes = std::min(behind, end - record.data_offset);
    const bool compressed = record.type == kCompressed || record.type == kCompressed2;
    if (auto seen = compressed ? inflate(record, inflater) : visitor(record); !seen) return seen;
    losses_.bytes_missing += behind - record.data_bytes;
    at = record.data_offset + record.data_bytes;
  }
  losses_.compressed_bytes_damaged = inflater.bytes_damaged();
  losses_.bytes_cut += inflater.bytes_left();
  return {};
}

}  // namespace fathom::snapshot::perf
