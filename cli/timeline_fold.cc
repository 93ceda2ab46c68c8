#include "cli/timeline_fold.h"

#include <algorithm>
#include <utility>

namespace fathom::cli {

namespace {

constexpr size_t kMostFoldedKinds = 4;
constexpr size_t kLeastOfKind = 3;        // lines per kind, on average
constexpr uint64_t kShareForItself = 10;  // a line that takes at least a tenth of the time is not folded

// The shortest duration of a line that is not folded: a part of the time from the first begin to the last end.
uint64_t long_nano_of(const std::vector<TimelineLine>& lines) {
  if (lines.empty()) return UINT64_MAX;
  int64_t end = lines.front().offset_nano;
  for (const TimelineLine& line : lines) end = std::max(end, line.end_nano());
  const uint64_t whole = static_cast<uint64_t>(end) - static_cast<uint64_t>(lines.front().offset_nano);
  return std::max<uint64_t>(whole / kShareForItself, 1);
}

class Folder {
 public:
  explicit Folder(std::vector<TimelineLine> lines) : lines_(std::move(lines)), long_nano_(long_nano_of(lines_)) {}

  std::vector<TimelineLine> run() {
    for (size_t i = 0; i < lines_.size();) {
      const size_t end = end_of_run(i);
      const bool folds = end - i >= kLeastOfKind * kinds_.size() && end > i;
      if (folds) fold(i, end);
      if (!folds) out_.push_back(std::move(lines_[i]));
      i = folds ? end : i + 1;
    }
    return std::move(out_);
  }

 private:
  bool can_fold(const TimelineLine& line) const {
    if (line.kind == TimelineLineKind::kFault) return true;
    return line.repeat && line.duration_nano.value_or(0) < long_nano_;
  }

  static bool are_alike(const TimelineLine& a, const TimelineLine& b) {
    if (a.kind != b.kind || a.depth != b.depth) return false;
    return a.kind == TimelineLineKind::kFault || a.repeat->is_like(*b.repeat);
  }

  // Fills in `kinds_` with the first line of each kind. A line that is less deep than the first one ends the run.
  size_t end_of_run(size_t begin) {
    kinds_.clear();
    size_t end = begin;
    for (; end < lines_.size(); ++end) {
      if (!can_fold(lines_[end]) || lines_[end].depth < lines_[begin].depth) break;
      if (kind_of(lines_[end]) < kinds_.size()) continue;
      if (kinds_.size() == kMostFoldedKinds) break;
      kinds_.push_back(end);
    }
    return end;
  }

  size_t kind_of(const TimelineLine& line) const {
    auto alike = [&](size_t first) { return are_alike(lines_[first], line); };
    return static_cast<size_t>(std::ranges::find_if(kinds_, alike) - kinds_.begin());
  }

  void fold(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t first = kinds_[kind_of(lines_[i])];
      if (first != i) lines_[first].add_alike(lines_[i]);
    }
    for (size_t first : kinds_) out_.push_back(std::move(lines_[first]));
  }

  std::vector<TimelineLine> lines_;
  const uint64_t long_nano_;
  std::vector<size_t> kinds_;
  std::vector<TimelineLine> out_;
};

}  // namespace

std::vector<TimelineLine> folded(std::vector<TimelineLine> lines) {
  return Folder(std::move(lines)).run();
}

}  // namespace fathom::cli
