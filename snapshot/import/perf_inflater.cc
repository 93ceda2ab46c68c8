#include "snapshot/import/perf_inflater.h"

#include <zstd.h>

#include "base/bytes.h"
#include "snapshot/import/perf_layout.h"

namespace fathom::snapshot::perf {
namespace {

constexpr size_t kStepBytes = 128 << 10;
constexpr int kMostWindowLog = 27;  // of zstd's highest level, which perf takes
// Records of the kernel shrink to a tenth, seldom to less than a thirtieth.
constexpr uint64_t kMostRatio = 1024;
constexpr uint64_t kMostInflatedBytes = uint64_t{64} << 30;

}  // namespace

RecordHeader read_record_header(std::string_view bytes) {
  ByteReader in(bytes);
  RecordHeader header;
  header.type = in.u32();
  header.misc = in.fixed<uint16_t>();
  header.bytes = in.fixed<uint16_t>();
  return header;
}

void RecordInflater::Free::operator()(ZSTD_DCtx_s* context) const {
  ZSTD_freeDCtx(context);
}

bool RecordInflater::begin() {
  if (context_ != nullptr) return true;
  context_.reset(ZSTD_createDCtx());
  return context_ != nullptr &&
         ZSTD_isError(ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kMostWindowLog)) == 0;
}

Result<> RecordInflater::add(std::string_view compressed) {
  compressed_bytes_ += compressed.size();
  // zstd keeps back what it has no room for, and gives it when it is called again, without input even.
  for (bool full = false; !damaged_ && (full || !compressed.empty());) {
    const size_t before = pending_.size();
    const size_t taken = inflate(compressed);
    full = pending_.size() - before == kStepBytes;
    if (taken == 0 && pending_.size() == before && !compressed.empty()) damaged_ = true;
    if (damaged_) break;
    compressed.remove_prefix(taken);
    if (auto seen = visit_whole_records(); !seen) return seen;
    if (auto fits = check_size(); !fits) return fits;
  }
  bytes_damaged_ += compressed.size();
  return {};
}

size_t RecordInflater::inflate(std::string_view compressed) {
  const size_t before = pending_.size();
  damaged_ = damaged_ || !begin();
  if (damaged_) return 0;
  pending_.resize(before + kStepBytes);
  ZSTD_inBuffer in{compressed.data(), compressed.size(), 0};
  ZSTD_outBuffer out{pending_.data() + before, kStepBytes, 0};
  damaged_ = ZSTD_isError(ZSTD_decompressStream(context_.get(), &out, &in)) != 0;
  pending_.resize(before + (damaged_ ? 0 : out.pos));
  inflated_bytes_ += pending_.size() - before;
  return damaged_ ? 0 : in.pos;
}

Result<> RecordInflater::check_size() const {
  const bool likely = inflated_bytes_ <= kStepBytes + compressed_bytes_ * kMostRatio;
  if (likely && inflated_bytes_ <= kMostInflatedBytes) return {};
  return exhausted(
      "the compressed records of this perf.data unpack to more than they can hold; it is damaged, or made "
      "to fill memory");
}

Result<> RecordInflater::visit_whole_records() {
  std::string_view left = pending_;
  while (left.size() >= kRecordHeaderBytes) {
    const RecordHeader header = read_record_header(left);
    damaged_ = header.bytes < kRecordHeaderBytes;
    if (damaged_ || header.bytes > left.size()) break;
    Record record;
    record.type = header.type;
    record.misc = header.misc;
    record.payload = left.substr(kRecordHeaderBytes, header.bytes - kRecordHeaderBytes);
    if (auto seen = visitor_(record); !seen) return seen;
    left.remove_prefix(header.bytes);
  }
  pending_.erase(0, pending_.size() - left.size());
  return {};
}

}  // namespace fathom::snapshot::perf
