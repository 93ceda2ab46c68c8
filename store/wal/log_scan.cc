#include "store/wal/log_scan.h"

#include <memory>
#include <utility>

#include "store/wal/log_block.h"

namespace fathom::store {

namespace {

// Assembles records from fragments.
class LogScan {
 public:
  explicit LogScan(LogVisitor& visitor) : visitor_(visitor) {}

  Result<> add(std::string_view block, uint64_t offset, bool last) {
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
      if (Result<> reported = report_damage(); !reported) return reported;
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
    begun_.reset();
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
  LogSummary summary_;
  std::optional<LogRange> begun_;   // the record being assembled
  std::optional<LogRange> damage_;  // not reported yet: no intact record followed it
  std::string record_;
};

Error read_error(const std::string& path, const rocksdb::Status& status) {
  return unavailable("cannot read " + path + ": " + status.ToString());
}

// Repeats short reads, which do not mean the end of the file.
rocksdb::Status read_block(rocksdb::SequentialFile& file, std::string& block) {
  block.resize(kLogBlockBytes);
  size_t size = 0;
  while (size < kLogBlockBytes) {
    rocksdb::Slice piece;
    rocksdb::Status status = file.Read(kLogBlockBytes - size, &piece, block.data() + size);
    if (!status.ok()) return status;
    if (piece.empty()) break;
    if (piece.data() != block.data() + size) block.replace(size, piece.size(), piece.data(), piece.size());
    size += piece.size();
  }
  block.resize(size);
  return rocksdb::Status::OK();
}

}  // namespace

Result<LogSummary> scan_log(rocksdb::Env& env, const std::string& path, LogVisitor& visitor) {
  std::unique_ptr<rocksdb::SequentialFile> file;
  rocksdb::Status status = env.NewSequentialFile(path, &file, rocksdb::EnvOptions());
  if (!status.ok()) return read_error(path, status);
  LogScan scan(visitor);
  std::string block, next;
  status = read_block(*file, block);
  for (uint64_t offset = 0; status.ok() && !block.empty(); offset += kLogBlockBytes) {
    // A block is the last one if no block follows it.
    status = read_block(*file, next);
    if (!status.ok()) break;
    if (Result<> added = scan.add(block, offset, next.empty()); !added) return added.error();
    block.swap(next);
  }
  if (!status.ok()) return read_error(path, status);
  return scan.finish();
}

}  // namespace fathom::store
