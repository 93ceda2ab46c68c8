#include "store/wal/log_scan.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "store/wal/log_block.h"

namespace fathom::store {

namespace {

// Assembles records from fragments.
class LogScan {
 public:
  LogScan(LogVisitor& visitor, const RecordNumbers& left_out) : visitor_(visitor), left_out_(left_out) {}

  Result<> add(std::string_view block, uint64_t offset, bool last) {
    summary_.bytes = offset + block.size();
    LogBlock parts(block, last);
    for (LogBlock::Part part = parts.next(); part != LogBlock::Part::kEnd; part = parts.next()) {
      if (Result<> added = add(part, {offset + parts.offset(), parts.size()}, parts.fragment()); !added) return added;
    }
    return {};
  }

  Result<LogSummary> finish() {
    if (Result<> reported = report_damage(); !reported) return reported.error();
    if (begun_) summary_.incomplete_from = begun_->offset;
    return summary_;
  }

 private:
  Result<> add(LogBlock::Part part, const LogRange& range, const Fragment& fragment) {
    if (part == LogBlock::Part::kFragment) return add(fragment, range);
    if (part == LogBlock::Part::kDamage) return add_damage(range);
    // The incomplete end of a damaged record belongs to that damage.
    if (damage_ && !begun_) return add_damage(range);
    if (!begun_) begun_ = range;
    return {};
  }

  Result<> add(const Fragment& fragment, const LogRange& range) {
    summary_.corrected |= fragment.corrected;
    const bool begins = fragment.type == FragmentType::kFull || fragment.type == FragmentType::kFirst;
    const bool ends = fragment.type == FragmentType::kFull || fragment.type == FragmentType::kLast;
    if (begins == begun_.has_value()) return add_unexpected(fragment, range, begins);
    if (begins) {
      begun_ = range;
      record_.clear();
    }
    begun_->bytes = range.end() - begun_->offset;
    if (fragment.type == FragmentType::kFull) return finish_record(fragment.payload);
    record_ += fragment.payload;
    return ends ? finish_record(record_) : Result<>();
  }

  // A continuation without a beginning, or a beginning inside an unfinished record.
  Result<> add_unexpected(const Fragment& fragment, const LogRange& range, bool begins) {
    if (!begins) return add_damage(range);
    LogRange unfinished = *begun_;
    unfinished.bytes = range.offset - unfinished.offset;
    if (Result<> added = add_damage(unfinished); !added) return added;
    return add(fragment, range);
  }

  Result<> finish_record(std::string_view record) {
    if (left_out_.contains(found_++)) return add_damage(*begun_);
    begun_.reset();
    if (Result<> reported = report_damage(); !reported) return reported;
    ++summary_.records;
    return visitor_.on_record(record);
  }

  // Merges adjacent ranges.
  Result<> add_damage(LogRange range) {
    if (begun_) range = {begun_->offset, range.end() - begun_->offset};
    begun_.reset();
    if (damage_) {
      damage_->bytes = range.end() - damage_->offset;
    } else {
      damage_ = range;
    }
    return {};
  }

  Result<> report_damage() {
    std::optional<LogRange> damage = std::exchange(damage_, std::nullopt);
    if (!damage) return {};
    ++summary_.damages;
    return visitor_.on_damage(*damage);
  }

  LogVisitor& visitor_;
  const RecordNumbers& left_out_;
  size_t found_ = 0;  // intact records
  LogSummary summary_;
  std::optional<LogRange> begun_;   // the record being assembled
  std::optional<LogRange> damage_;  // not reported yet: no intact record followed it
  std::string record_;
};

Error read_error(const std::string& path, const rocksdb::Status& status) {
  return unavailable("cannot read " + path + ": " + status.ToString());
}

// Reads a file whose disk may have bad sectors: they read as zeros, which no checksum fits.
class SectorReader {
 public:
  static Result<std::unique_ptr<SectorReader>> open(rocksdb::Env& env, const std::string& path) {
    std::unique_ptr<SectorReader> reader(new SectorReader(path));
    rocksdb::Status status = env.GetFileSize(path, &reader->size_);
    if (status.ok()) status = env.NewRandomAccessFile(path, &reader->file_, rocksdb::EnvOptions());
    if (!status.ok()) return read_error(path, status);
    return reader;
  }

  // At most a block; empty at the end of the file.
  std::string block_at(uint64_t offset) {
    std::string block(std::min<uint64_t>(kLogBlockBytes, size_ - std::min(size_, offset)), '\0');
    if (read(offset, block.data(), block.size()).ok()) return block;
    for (size_t at = 0; at < block.size(); at += kSectorBytes) {
      rocksdb::Status status = read(offset + at, block.data() + at, std::min(kSectorBytes, block.size() - at));
      if (!status.ok()) fault_ = status;
    }
    return block;
  }

  // If nothing at all can be read, the disk itself has failed, and may be readable later.
  Result<> check() const { return read_bytes_ > 0 || fault_.ok() ? Result<>() : Result<>(read_error(path_, fault_)); }

 private:
  static constexpr size_t kSectorBytes = 512;

  explicit SectorReader(std::string path) : path_(std::move(path)) {}

  // Repeats short reads, which do not mean the end of the file. What fails is zeros.
  rocksdb::Status read(uint64_t offset, char* to, size_t bytes) {
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

  const std::string path_;
  std::unique_ptr<rocksdb::RandomAccessFile> file_;
  uint64_t size_ = 0;
  uint64_t read_bytes_ = 0;
  rocksdb::Status fault_;
};

}  // namespace

Result<LogSummary> scan_log(rocksdb::Env& env, const std::string& path, LogVisitor& visitor,
                            const RecordNumbers& left_out) {
  Result<std::unique_ptr<SectorReader>> reader = SectorReader::open(env, path);
  if (!reader) return reader.error();
  LogScan scan(visitor, left_out);
  std::string block = (*reader)->block_at(0);
  for (uint64_t offset = 0; !block.empty(); offset += kLogBlockBytes) {
    // A block is the last one if no block follows it.
    std::string next = (*reader)->block_at(offset + kLogBlockBytes);
    if (Result<> added = scan.add(block, offset, next.empty()); !added) return added.error();
    block.swap(next);
  }
  if (Result<> readable = (*reader)->check(); !readable) return readable.error();
  return scan.finish();
}

}  // namespace fathom::store
