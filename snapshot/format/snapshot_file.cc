#include "snapshot/format/snapshot_file.h"

#include <sys/stat.h>
#include <xxhash.h>

#include <utility>

#include "base/bytes.h"
#include "base/whole_io.h"

namespace fathom::snapshot {
namespace {

constexpr const char* kWhat = "cannot read a snapshot";

Result<std::string> read_string(int file, uint64_t offset, uint64_t size) {
  std::string bytes(size, '\0');
  auto got = read_whole(file, offset, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()}, kWhat);
  if (!got) return got.error();
  return bytes;
}

struct Place {
  uint64_t at = 0;
  uint64_t bytes = 0;
  uint64_t hash = 0;
};

Result<> check_header(int file) {
  auto bytes = read_string(file, 0, kHeaderBytes);
  if (!bytes) return bytes.error();
  ByteReader in(*bytes);
  if (in.raw(kSnapshotMagic.size()) != kSnapshotMagic) return corrupt("this is no snapshot of fathom's");
  const uint32_t version = in.u32();
  if (version == kSnapshotVersion) return {};
  return Error{ErrorCode::kUnsupported, "this snapshot is of format version " + std::to_string(version) +
                                            ", and this fathom reads version " + std::to_string(kSnapshotVersion)};
}

Result<Place> metadata_place(int file, uint64_t size) {
  auto bytes = read_string(file, size - kTrailerBytes, kTrailerBytes);
  if (!bytes) return bytes.error();
  ByteReader in(*bytes);
  Place place;
  place.at = in.u64();
  place.bytes = in.u64();
  place.hash = in.u64();
  const bool whole = in.raw(kSnapshotMagic.size()) == kSnapshotMagic && place.at >= kHeaderBytes &&
                     place.bytes <= kMostMetadataBytes && place.at <= size - kTrailerBytes &&
                     place.bytes == size - kTrailerBytes - place.at;
  if (!whole) return corrupt("this snapshot is cut short: its end is missing");
  return place;
}

}  // namespace

Result<SnapshotFile> SnapshotFile::open(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return system_error("cannot open the snapshot " + path);
  return open(std::move(file));
}

Result<SnapshotFile> SnapshotFile::open(Fd file, uint64_t most_metadata_bytes) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return system_error("cannot look at a snapshot");
  const auto size = static_cast<uint64_t>(about.st_size);
  if (size < kHeaderBytes + kTrailerBytes) return corrupt("this is no snapshot of fathom's: it is too short");
  if (auto known = check_header(file.get()); !known) return known.error();
  auto place = metadata_place(file.get(), size);
  if (!place) return place.error();
  if (place->bytes > most_metadata_bytes) {
    return exhausted("the description in this snapshot has " + std::to_string(place->bytes) + " bytes; " +
                     std::to_string(most_metadata_bytes) + " are the most that are read here");
  }
  auto metadata = read_string(file.get(), place->at, place->bytes);
  if (!metadata) return metadata.error();
  if (XXH3_64bits(metadata->data(), metadata->size()) != place->hash) {
    return corrupt("the description in this snapshot is damaged");
  }
  auto snapshot = decode_metadata(*metadata, place->at);
  if (!snapshot) return snapshot.error();
  SnapshotFile opened;
  opened.file_ = std::move(file);
  opened.snapshot_ = std::move(*snapshot);
  return opened;
}

Result<> SnapshotFile::read(uint64_t file_offset, std::span<uint8_t> bytes) const {
  return read_whole(file_.get(), file_offset, bytes, kWhat);
}

}  // namespace fathom::snapshot
