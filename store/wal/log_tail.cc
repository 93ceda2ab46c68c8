#include "store/wal/log_tail.h"

#include <algorithm>
#include <string_view>

#include "store/wal/log_block.h"
#include "store/wal/log_mark.h"

namespace fathom::store {

namespace {

// The part that is filled, and the end of the one before, which may be left.
constexpr uint64_t kMostTailBytes = 2 * kLogFillBytes;
// Zeros: writes of the fill that a power cut interrupted.
constexpr std::string_view kBlank{"\xF5\0", 2};

class TailReader {
 public:
  TailReader(SectorReader& file, uint64_t log) : file_(file), log_(log) {}

  LogTail read() {
    tail_.fill_begin = file_.size();
    const uint64_t first = (file_.size() - std::min(file_.size(), kMostTailBytes)) / kLogBlockBytes;
    for (uint64_t block = file_.size() / kLogBlockBytes + 1; block-- > first;) {
      add_block(file_.block_at(block * kLogBlockBytes), block * kLogBlockBytes);
    }
    return std::move(tail_);
  }

 private:
  void add_block(std::string_view block, uint64_t offset) {
    for (size_t page = (block.size() + kLogPageBytes - 1) / kLogPageBytes; page-- > 0;) {
      const size_t at = page * kLogPageBytes;
      add_page(block.substr(at, kLogPageBytes), offset + at);
    }
  }

  // From the last page to the first one.
  void add_page(std::string_view page, uint64_t offset) {
    if (const std::optional<LogMark> mark = LogMark::at_end_of(page); mark && is_of_log(*mark, offset + page.size())) {
      page.remove_suffix(kLogMarkBytes);
      tail_.marks.push_back({offset + page.size(), mark->records_end});
      salt_ = mark->salt;
    }
    is_blank_ = is_blank_ && page.find_first_not_of(kBlank) == std::string_view::npos;
    if (!is_filled_) return;
    const size_t last = page.find_last_not_of(kLogFillByte);
    is_filled_ = last == std::string_view::npos;
    tail_.fill_begin = is_filled_ ? offset : offset + last + 1;
  }

  // `end`: of the mark. No mark names records behind itself.
  bool is_of_log(const LogMark& mark, uint64_t end) const {
    const bool is_known = salt_ ? mark.salt == *salt_ : is_blank_;
    return is_known && mark.log == log_ && mark.records_end + kLogMarkBytes <= end;
  }

  SectorReader& file_;
  const uint64_t log_;
  bool is_filled_ = true;         // as far as it is read, by fill bytes and marks
  bool is_blank_ = true;          // the same, with zeros
  std::optional<uint64_t> salt_;  // of the newest mark
  LogTail tail_;
};

}  // namespace

std::optional<uint64_t> LogTail::marked_end(uint64_t offset) const {
  std::optional<uint64_t> end;
  for (const Mark& mark : marks) {
    if (mark.offset >= offset) end = std::max(end.value_or(0), mark.records_end);
  }
  return end;
}

LogTail read_tail(SectorReader& file, uint64_t log) {
  return TailReader(file, log).read();
}

}  // namespace fathom::store
