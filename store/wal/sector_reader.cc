#include "store/wal/sector_reader.h"

#include <algorithm>
#include <cstring>

#include "store/wal/log_block.h"

namespace fathom::store {

namespace {

constexpr size_t kSectorBytes = 512;

Error read_error(const std::string& path, const rocksdb::Status& status) {
  return unavailable("cannot read " + path + ": " + status.ToString());
}

}  // namespace

Result<std::unique_ptr<SectorReader>> SectorReader::open(rocksdb::Env& env, const std::string& path) {
  std::unique_ptr<SectorReader> reader(new SectorReader(path));
  rocksdb::Status status = env.GetFileSize(path, &reader->size_);
  if (status.ok()) status = env.NewRandomAccessFile(path, &reader->file_, rocksdb::EnvOptions());
  if (!status.ok()) return read_error(path, status);
  return reader;
}

std::string SectorReader::block_at(uint64_t offset) {
  std::string block(std::min<uint64_t>(kLogBlockBytes, size_ - std::min(size_, offset)), '\0');
  if (read(offset, block.data(), block.size()).ok()) return block;
  for (size_t at = 0; at < block.size(); at += kSectorBytes) {
    rocksdb::Status status = read(offset + at, block.data() + at, std::min(kSectorBytes, block.size() - at));
    if (!status.ok()) fault_ = status;
  }
  return block;
}

Result<> SectorReader::check() const {
  return read_bytes_ > 0 || fault_.ok() ? Result<>() : Result<>(read_error(path_, fault_));
}

// Repeats short reads, which do not mean the end of the file. What fails is zeros.
rocksdb::Status SectorReader::read(uint64_t offset, char* to, size_t bytes) {
  size_t size = 0;
  while (size < bytes) {
    rocksdb::Slice piece;
    rocksdb::Status status = file_->Read(offset + size, bytes - size, &piece, to + size);
    if (status.ok() && piece.empty()) status = rocksdb::Status::IOError("the file became shorter");
    if (!status.ok()) {
      std::memset(to, 0, bytes);
      return status;
    }
    if (piece.data() != to + size) std::memcpy(to + size, piece.data(), piece.size());
    size += piece.size();
  }
  read_bytes_ += bytes;
  return rocksdb::Status::OK();
}

}  // namespace fathom::store
