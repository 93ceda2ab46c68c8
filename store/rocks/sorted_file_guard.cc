#include "store/rocks/sorted_file_guard.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/hash.h"

namespace fathom::store {

namespace {

using rocksdb::IOStatus;

constexpr uint64_t kFooterBytes = 53;
constexpr size_t kMagicBytes = 8, kVersionBytes = 4;
constexpr uint64_t kMagic = 0x88e241b785f4cff7;
constexpr uint8_t kXxh3 = 4;  // RocksDB's default checksum
constexpr uint64_t kTrailerBytes = 5;
constexpr std::string_view kProperties = "rocksdb.properties", kEntries = "rocksdb.num.entries";

// Where a block is, without its trailer.
struct BlockPlace {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

BlockPlace read_place(ByteReader& in) {
  const uint64_t offset = in.varint();
  return {offset, in.varint()};
}

// The last byte before the checksum is mixed in on its own.
uint32_t checksum_of(std::string_view block, uint8_t last) {
  constexpr uint32_t kPrime = 0x6b9083d9;
  return static_cast<uint32_t>(hash64(block, 0)) ^ last * kPrime;
}

class SortedFileEnd {
 public:
  SortedFileEnd(const std::string& path, rocksdb::FSRandomAccessFile& file, uint64_t bytes)
      : path_(path), file_(file), bytes_(bytes) {}

  // Reads everything that it checks. `properties`: the block of them.
  IOStatus check(std::string& properties) {
    if (bytes_ < kFooterBytes) return damaged("is shorter than a footer");
    BlockPlace directory;
    IOStatus status = read_footer(directory);
    std::string block;
    if (status.ok()) status = read_block(directory, block);
    if (!status.ok()) return status;
    ByteReader value(find(block, kProperties).value_or(""));
    const BlockPlace place = read_place(value);
    return value.failed() ? damaged("has no properties") : read_block(place, properties);
  }

  // Entries share a prefix with the key before; the block ends with its restart points.
  static std::optional<std::string_view> find(std::string_view block, std::string_view wanted) {
    ByteReader in(block);
    std::string key;
    while (!in.failed() && !in.at_end()) {
      const uint64_t shared = in.varint(), own = in.varint(), value_bytes = in.varint();
      if (shared > key.size()) return std::nullopt;
      key.resize(shared);
      key += in.raw(own);
      const std::string_view value = in.raw(value_bytes);
      if (!in.failed() && key == wanted) return value;
    }
    return std::nullopt;
  }

 private:
  IOStatus damaged(const std::string& what) const {
    return IOStatus::Corruption("the end of the file " + path_ + " is damaged: it " + what);
  }

  IOStatus read(uint64_t offset, uint64_t bytes, std::string& out) {
    out.resize(bytes);
    for (uint64_t at = 0; at < bytes;) {
      rocksdb::Slice piece;
      IOStatus status = file_.Read(offset + at, bytes - at, rocksdb::IOOptions(), &piece, out.data() + at, nullptr);
      if (status.ok() && piece.empty()) status = damaged("became shorter");
      if (!status.ok()) return status;
      if (piece.data() != out.data() + at) out.replace(at, piece.size(), piece.data(), piece.size());
      at += piece.size();
    }
    return IOStatus::OK();
  }

  // Sets the place of the block that names all others but the index.
  IOStatus read_footer(BlockPlace& directory) {
    std::string footer;
    if (IOStatus status = read(bytes_ - kFooterBytes, kFooterBytes, footer); !status.ok()) return status;
    ByteReader tail(std::string_view(footer).substr(kFooterBytes - kMagicBytes - kVersionBytes));
    const uint32_t version = tail.u32();
    if (version > 5 || version == 0 || tail.u64() != kMagic) return damaged("has the footer of another format");
    ByteReader in(footer);
    if (in.u8() != kXxh3) return damaged("has a checksum of another kind");
    directory = read_place(in);
    const BlockPlace index = read_place(in);
    if (in.failed() || !fits(directory) || !fits(index)) return damaged("has a footer that points outside of the file");
    return IOStatus::OK();
  }

  bool fits(const BlockPlace& place) const {
    const uint64_t end = bytes_ - kFooterBytes;
    return place.offset <= end && place.bytes <= end - place.offset &&
           kTrailerBytes <= end - place.offset - place.bytes;
  }

  IOStatus read_block(const BlockPlace& place, std::string& block) {
    if (!fits(place)) return damaged("names a block outside of the file");
    if (IOStatus status = read(place.offset, place.bytes + kTrailerBytes, block); !status.ok()) return status;
    ByteReader trailer(std::string_view(block).substr(place.bytes));
    const uint8_t compression = trailer.u8();
    const uint32_t checksum = trailer.u32();
    block.resize(place.bytes);
    if (checksum != checksum_of(block, compression)) return damaged("has a block with a wrong checksum");
    return IOStatus::OK();
  }

  const std::string& path_;
  rocksdb::FSRandomAccessFile& file_;
  const uint64_t bytes_;
};

bool is_sorted_file(const std::string& path) {
  return path.ends_with(".sst");
}

class MemoryFile : public rocksdb::FSRandomAccessFile {
 public:
  explicit MemoryFile(std::string_view content) : content_(content) {}
  IOStatus Read(uint64_t offset, size_t bytes, const rocksdb::IOOptions&, rocksdb::Slice* result, char*,
                rocksdb::IODebugContext*) const override {
    *result = content_.substr(std::min<uint64_t>(offset, content_.size()), bytes);
    return IOStatus::OK();
  }

 private:
  const std::string_view content_;
};

bool has_no_rows(const std::string& path, std::string_view content) {
  MemoryFile file(content);
  std::string properties;
  if (!SortedFileEnd(path, file, content.size()).check(properties).ok()) return false;
  return SortedFileEnd::find(properties, kEntries) == std::string_view("\0", 1);
}

}  // namespace

// RocksDB writes a file without rows by one append.
class SortedFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  SortedFile(std::unique_ptr<rocksdb::FSWritableFile> file, std::string path)
      : FSWritableFileOwnerWrapper(std::move(file)), path_(std::move(path)) {}

  IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                  rocksdb::IODebugContext* debug) override {
    is_empty_ = bytes_ == 0 && data.size() <= kMostEmptyBytes && has_no_rows(path_, data.ToStringView());
    bytes_ += data.size();
    return checked(target()->Append(data, options, debug));
  }
  IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options, const rocksdb::DataVerificationInfo&,
                  rocksdb::IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    return checked(target()->Sync(options, debug));
  }
  IOStatus Fsync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    return checked(target()->Fsync(options, debug));
  }
  IOStatus Close(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    return checked(target()->Close(options, debug));
  }

 private:
  static constexpr uint64_t kMostEmptyBytes = 16 << 10;  // their properties are about 1 KiB

  IOStatus checked(IOStatus status) const {
    if (!status.ok() && is_empty_) return IOStatus::OK();
    return status;
  }

  const std::string path_;
  uint64_t bytes_ = 0;
  bool is_empty_ = false;
};

IOStatus SortedFileGuard::NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                                              std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                              rocksdb::IODebugContext* debug) {
  IOStatus status = target()->NewRandomAccessFile(path, options, file, debug);
  if (!status.ok() || !is_sorted_file(path)) return status;
  uint64_t bytes = 0;
  std::string properties;
  status = target()->GetFileSize(path, options.io_options, &bytes, debug);
  if (status.ok()) status = SortedFileEnd(path, **file, bytes).check(properties);
  if (!status.ok()) file->reset();
  return status;
}

IOStatus SortedFileGuard::NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                          std::unique_ptr<rocksdb::FSWritableFile>* file,
                                          rocksdb::IODebugContext* debug) {
  IOStatus status = target()->NewWritableFile(path, options, file, debug);
  if (status.ok() && is_sorted_file(path)) *file = std::make_unique<SortedFile>(std::move(*file), path);
  return status;
}

}  // namespace fathom::store
