#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/whole_io.h"
#include "snapshot/format/layout.h"
#include "snapshot/format/snapshot_file.h"

namespace fathom::snapshot {
namespace {

std::string header() {
  std::string bytes(kSnapshotMagic);
  ByteWriter out(bytes);
  out.u32(kSnapshotVersion);
  out.u32(0);
  return bytes;
}

std::string trailer(uint64_t metadata_at, std::string_view metadata) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u64(metadata_at);
  out.u64(metadata.size());
  out.u64(XXH3_64bits(metadata.data(), metadata.size()));
  out.raw(kSnapshotMagic);
  return bytes;
}

}  // namespace

Result<SnapshotWriter> SnapshotWriter::begin(Fd file) {
  SnapshotWriter writer(std::move(file));
  if (auto written = writer.append(header()); !written) return written.error();
  return writer;
}

Result<> SnapshotWriter::append(std::string_view bytes) {
  if (auto written = write_whole(file_.get(), bytes, "cannot write a snapshot"); !written) return written;
  hasher_.add(bytes);
  at_ += bytes.size();
  return {};
}

Result<> SnapshotWriter::packets(size_t stream, uint64_t offset, std::span<const uint8_t> bytes) {
  if (bytes.empty()) return {};
  const uint64_t at = at_;
  if (auto written = append({reinterpret_cast<const char*>(bytes.data()), bytes.size()}); !written) return written;
  if (!placed_.empty()) {
    Placed& last = placed_.back();
    const bool goes_on = last.stream == stream && last.piece.offset + last.piece.bytes == offset;
    if (goes_on) {
      last.piece.bytes += bytes.size();
      return {};
    }
  }
  placed_.push_back({stream, {offset, at, bytes.size()}});
  return {};
}

Result<SnapshotId> SnapshotWriter::finish(Snapshot snapshot) {
  for (Stream& stream : snapshot.streams) stream.pieces.clear();
  for (const Placed& placed : placed_) snapshot.streams.at(placed.stream).pieces.push_back(placed.piece);
  std::stable_sort(snapshot.sideband.begin(), snapshot.sideband.end(),
                   [](const Sideband& left, const Sideband& right) { return left.tsc < right.tsc; });
  const std::string metadata = encode_metadata(snapshot);
  if (metadata.size() > kMostMetadataBytes) return exhausted("a snapshot's history of processes is too long to keep");
  const uint64_t metadata_at = at_;
  if (auto written = append(metadata); !written) return written.error();
  if (auto written = append(trailer(metadata_at, metadata)); !written) return written.error();
  if (::fsync(file_.get()) != 0) return system_error("cannot sync a snapshot");
  const Sha256 hash = hasher_.finish();
  return *SnapshotId::from_bytes(hash.view().substr(0, sizeof(SnapshotId::bytes)));
}

}  // namespace fathom::snapshot
