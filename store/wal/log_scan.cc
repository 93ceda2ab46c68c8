#include "store/wal/log_scan.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "store/wal/log_block.h"
#include "store/wal/log_files.h"
#include "store/wal/log_tail.h"
#include "store/wal/sector_reader.h"

namespace fathom::store {

namespace {

// Assembles records from fragments.
class LogScan {
 public:
  LogScan(LogVisitor& visitor, const RecordNumbers& left_out, LogTail tail)
      : visitor_(visitor), left_out_(left_out), tail_(std::move(tail)) {}

  Result<> add(std::string_view block, uint64_t offset, bool last) {
    summary_.bytes = offset + block.size();
    if (has_ended_) return {};
    const uint64_t data_bytes = tail_.fill_begin - std::min(tail_.fill_begin, offset);
    LogBlock parts(block, last, data_bytes);
    for (LogBlock::Part part = parts.next(); part != LogBlock::Part::kEnd && !has_ended_; part = parts.next()) {
      const LogRange range{offset + parts.offset(), parts.size()};
      summary_.end = range.end();
      if (Result<> added = add(synced(part, range.offset), range, parts.fragment()); !added) return added;
    }
    has_ended_ |= data_bytes < block.size();
    if (!has_ended_) summary_.end = summary_.bytes;
    return {};
  }

  Result<LogSummary> finish() {
    if (Result<> reported = report_damage(); !reported) return reported.error();
    if (begun_) summary_.incomplete_from = begun_->offset;
    summary_.marked_end = tail_.marked_end(summary_.intact_end());
    return summary_;
  }

 private:
  // In a log that is filled ahead, a mark tells the interrupted write of a record from damage.
  LogBlock::Part synced(LogBlock::Part part, uint64_t offset) {
    const std::optional<uint64_t> marked_end = tail_.marked_end(offset);
    if (part == LogBlock::Part::kFragment || !marked_end) return part;
    // Nothing behind it was synced either.
    has_ended_ = offset >= *marked_end;
    if (has_ended_) summary_.end = std::max(summary_.end, tail_.fill_begin);
    return has_ended_ ? LogBlock::Part::kIncomplete : LogBlock::Part::kDamage;
  }

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
  const LogTail tail_;
  bool has_ended_ = false;  // the rest of the file is not read
  size_t found_ = 0;        // intact records
  LogSummary summary_;
  std::optional<LogRange> begun_;   // the record being assembled
  std::optional<LogRange> damage_;  // not reported yet: no intact record followed it
  std::string record_;
};

// A file that is no log has no tail. `path` may be that of a log that was set aside.
LogTail tail_of(SectorReader& file, const std::string& path) {
  const std::optional<LogFile> log = log_file(std::filesystem::path(path).filename().string());
  return log ? read_tail(file, log->number) : LogTail();
}

}  // namespace

Result<LogSummary> scan_log(rocksdb::Env& env, const std::string& path, LogVisitor& visitor,
                            const RecordNumbers& left_out) {
  Result<std::unique_ptr<SectorReader>> reader = SectorReader::open(env, path);
  if (!reader) return reader.error();
  LogScan scan(visitor, left_out, tail_of(**reader, path));
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
