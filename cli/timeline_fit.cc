#include "cli/timeline_fit.h"

#include <algorithm>

#include "cli/text.h"
#include "cli/timeline_fold.h"
#include "cli/timeline_lines.h"

namespace fathom::cli {

namespace {

using Kind = TimelineLineKind;

bool always_stays(const TimelineLine& line) {
  return line.kind == Kind::kSpan || line.kind == Kind::kGap;
}

void set_depths(std::vector<TimelineLine>& lines) {
  std::vector<int64_t> ends;
  for (TimelineLine& line : lines) {
    while (!ends.empty() && ends.back() <= line.offset_nano && ends.back() < line.end_nano()) ends.pop_back();
    line.depth = ends.size();
    bool holds = line.kind == Kind::kSpan || (line.kind == Kind::kCall && !line.is_folded());
    if (holds) ends.push_back(line.end_nano());
  }
}

// Something that ends between two faults makes the second one stand less deep.
bool goes_on(const TimelineLine& before, const TimelineLine& line) {
  return before.kind == Kind::kFault && line.kind == Kind::kFault && before.depth == line.depth;
}

void join_faults(std::vector<TimelineLine>& lines) {
  size_t kept = 0;
  for (TimelineLine& line : lines) {
    if (kept > 0 && goes_on(lines[kept - 1], line)) {
      lines[kept - 1].add_faults(line);
    } else if (&lines[kept++] != &line) {
      lines[kept - 1] = std::move(line);
    }
  }
  lines.resize(kept);
}

// Chooses `most` of the lines, or some more where single ones are left out between them.
class Choice {
 public:
  explicit Choice(const std::vector<TimelineLine>& lines) : lines_(lines), stays_(lines.size()) {
    for (size_t i = 0; i < lines.size(); ++i) {
      if (always_stays(lines[i])) {
        stays_[i] = true;
      } else {
        of_kind(lines[i].kind).push_back(i);
      }
    }
  }

  size_t size() const { return events_.size() + waits_.size() + faults_.size(); }

  std::vector<bool> run(size_t most) {
    size_t for_events = std::min(events_.size(), std::max((most + 1) / 2, most - std::min(most, waits_.size())));
    size_t for_waits = std::min(waits_.size(), most - for_events);
    keep_ends(for_events);
    keep_longest(waits_, for_waits);
    keep_longest(faults_, std::min(faults_.size(), most - for_events - for_waits));
    return std::move(stays_);
  }

 private:
  std::vector<size_t>& of_kind(Kind kind) {
    return kind == Kind::kEvent ? events_ : kind == Kind::kFault ? faults_ : waits_;
  }

  void keep_ends(size_t many) {
    for (size_t i = 0; i < many / 2; ++i) stays_[events_[i]] = true;
    for (size_t i = events_.size() - (many - many / 2); i < events_.size(); ++i) stays_[events_[i]] = true;
  }

  void keep_longest(std::vector<size_t>& indexes, size_t many) {
    auto duration = [this](size_t index) { return lines_[index].told_nano(); };
    std::ranges::stable_sort(indexes, std::ranges::greater(), duration);
    for (size_t i = 0; i < many; ++i) stays_[indexes[i]] = true;
  }

  const std::vector<TimelineLine>& lines_;
  std::vector<bool> stays_;
  std::vector<size_t> events_, waits_, faults_;
};

TimelineLine left_out_line(const TimelineLine& first, const TimelineLine& last, uint64_t many) {
  TimelineLine gap{.kind = Kind::kGap, .offset_nano = first.offset_nano};
  gap.duration_nano = static_cast<uint64_t>(last.offset_nano) - static_cast<uint64_t>(first.offset_nano);
  gap.text = "... " + group_digits(many) + " more lines";
  return gap;
}

ThreadLines chosen(std::vector<TimelineLine> lines, const std::vector<bool>& stays) {
  ThreadLines kept;
  for (size_t i = 0; i < lines.size();) {
    size_t behind = i;
    while (behind < lines.size() && !stays[behind]) ++behind;
    if (behind - i == 1) {
      kept.lines.push_back(std::move(lines[i]));  // to say that it is left out takes a line, too
    } else if (behind > i) {
      kept.left_out += behind - i;
      kept.lines.push_back(left_out_line(lines[i], lines[behind - 1], behind - i));
    }
    if (behind < lines.size()) kept.lines.push_back(std::move(lines[behind]));
    i = behind + 1;
  }
  return kept;
}

}  // namespace

ThreadLines fitted(std::vector<TimelineLine> lines, size_t most) {
  set_depths(lines);
  join_faults(lines);
  if (most == 0) return {std::move(lines), 0};
  lines = folded(std::move(lines));
  set_depths(lines);
  Choice choice(lines);
  if (choice.size() <= most) return {std::move(lines), 0};
  const std::vector<bool> stays = choice.run(most);
  ThreadLines kept = chosen(std::move(lines), stays);
  set_depths(kept.lines);
  return kept;
}

}  // namespace fathom::cli
