#include "snapshot/analyze/diff_answer.h"

#include <algorithm>
#include <cstdlib>

#include "snapshot/analyze/answer_head.h"
#include "snapshot/analyze/code_labels.h"
#include "snapshot/analyze/icicle.h"

namespace fathom::snapshot {

namespace {

std::string time_difference(const TraceTime& time, int64_t difference) {
  if (difference == 0) return "-";
  return (difference < 0 ? "-" : "+") + time.text(static_cast<uint64_t>(std::llabs(difference)));
}

std::string sign_of(const DifferenceRow& row) {
  return row.in_first == row.in_second ? " " : row.in_second ? "+" : "-";
}

std::string change_text(const TraceTime& time, uint64_t first, uint64_t second) {
  return time.text(first) + " -> " + time.text(second) + " (" +
         time_difference(time, static_cast<int64_t>(second - first)) + ")";
}

std::string change_text(uint64_t first, uint64_t second) {
  return group_digits(first) + " -> " + group_digits(second) + " (" +
         signed_cell(static_cast<int64_t>(second - first)) + ")";
}

// Lines: what changed of a row, in full.
std::string changes_text(const DifferenceRow& row, const TraceTime& time, bool timed) {
  std::string text = "instructions: " + change_text(row.first.instructions, row.second.instructions) + "\n";
  if (!timed) return text;
  return text + "time: " + change_text(time, row.first.time, row.second.time) + "\n" +
         "paused: " + change_text(time, row.first.paused, row.second.paused) + "\n";
}

std::string summary_text(const CallDifference& difference, const TraceTime& time) {
  std::string text = changes_text(difference.rows[0], time, difference.timed);
  if (!difference.timed) text += "time: not compared, one of them knows nanoseconds and the other ticks alone\n";
  text += "added: " + group_digits(difference.paths_added) + " paths, " + group_digits(difference.calls_added) +
          " calls; removed: " + group_digits(difference.paths_removed) + " paths, " +
          group_digits(difference.calls_removed) + " calls\n";
  return text;
}

std::string and_more_text(const CallDifference& difference, const std::vector<bool>& chosen) {
  uint64_t left = 0;
  for (size_t i = 1; i < chosen.size(); ++i) left += !chosen[i] && !difference.rows[i].same() ? 1 : 0;
  if (left == 0) return "";
  return "and " + group_digits(left) + " more that differ less; --limit 0 shows all\n";
}

void amounts_json(net::JsonWriter& json, std::string_view name, const CallAmounts& amounts, bool timed) {
  json.key(name).begin_object().member("calls", amounts.calls).member("instructions", amounts.self_instructions);
  json.member("total_instructions", amounts.instructions);
  if (timed) json.member("total_time", amounts.time).member("total_paused", amounts.paused);
  json.end_object();
}

// What a picture shows of a row: how long it took, or where nobody knows that how many instructions.
class Shown {
 public:
  explicit Shown(const CallDifference& difference)
      : elapsed_(difference.rows[0].first.elapsed() > 0 && difference.rows[0].second.elapsed() > 0) {}
  uint64_t of(const CallAmounts& amounts) const { return elapsed_ ? amounts.elapsed() : amounts.instructions; }
  const char* name() const { return elapsed_ ? "time, with pauses" : "instructions"; }

 private:
  bool elapsed_;
};

// Red and blue, the stronger the more of the row changed.
std::string change_colour(uint64_t first, uint64_t second) {
  if (first == second) return "#ddd";
  const uint64_t less = std::min(first, second), more = std::max(first, second);
  const double share = static_cast<double>(more - less) / static_cast<double>(more);
  const std::string weak = std::to_string(235 - static_cast<int>(share * 140));
  return second > first ? "rgb(245," + weak + "," + weak + ")" : "rgb(" + weak + "," + weak + ",245)";
}

}  // namespace

std::string diff_table(const CallDifference& difference, const TraceTime& time, uint64_t limit) {
  NumberTable table({"calls", "insns", "self insns", "time", "paused", "   function"});
  const std::vector<bool> chosen = different_rows(difference, limit);
  for (size_t i = 1; i < difference.rows.size(); ++i) {
    const DifferenceRow& row = difference.rows[i];
    if (!chosen[i]) continue;
    table.add({signed_cell(row.calls()), signed_cell(row.instructions()), signed_cell(row.self_instructions()),
               time_difference(time, row.time()), time_difference(time, row.paused()),
               sign_of(row) + std::string(row.depth * 2, ' ') + short_function_name(row.name)});
  }
  return summary_text(difference, time) + "\n" + (table.size() == 0 ? "no path differs\n" : table.text()) +
         and_more_text(difference, chosen);
}

void diff_json(net::JsonWriter& json, const CallDifference& difference, uint64_t limit) {
  json.member("paths_added", difference.paths_added).member("paths_removed", difference.paths_removed);
  json.member("calls_added", difference.calls_added).member("calls_removed", difference.calls_removed);
  std::vector<bool> chosen(difference.rows.size(), true);
  if (limit > 0) chosen = different_rows(difference, limit);
  json.key("rows").begin_array();
  for (size_t i = 0; i < difference.rows.size(); ++i) {
    const DifferenceRow& row = difference.rows[i];
    if (!chosen[i]) continue;
    json.begin_object().member("id", i).key("parent");
    i == 0 ? json.null() : json.number(row.parent);
    json.member("depth", row.depth).member("name", row.name);
    json.member("change", !row.in_first ? "added" : !row.in_second ? "removed" : row.same() ? "same" : "changed");
    amounts_json(json, "first", row.first, difference.timed);
    amounts_json(json, "second", row.second, difference.timed);
    json.end_object();
  }
  json.end_array();
}

std::string diff_svg(const CallDifference& difference, const TraceTime& time, std::string_view caption) {
  const Shown shown(difference);
  std::vector<uint64_t> below(difference.rows.size());  // values of children, which are not to be wider than a parent
  std::vector<uint64_t> values(difference.rows.size());
  for (size_t i = difference.rows.size(); i-- > 0;) {
    const DifferenceRow& row = difference.rows[i];
    values[i] = std::max({shown.of(row.first), shown.of(row.second), below[i]});
    if (i > 0) below[row.parent] += values[i];
  }
  std::vector<IciclePiece> pieces;
  for (size_t i = 0; i < difference.rows.size(); ++i) {
    const DifferenceRow& row = difference.rows[i];
    std::string title = row.name + "\n" + changes_text(row, time, difference.timed) +
                        "calls: " + change_text(row.first.calls, row.second.calls);
    pieces.push_back({row.name, std::move(title), row.parent, row.depth, values[i],
                      change_colour(shown.of(row.first), shown.of(row.second))});
  }
  return draw_icicle(pieces, std::string(caption) + "; width: " + shown.name());
}

Result<> answer_diff(const SnapshotDirectory& directory, const Question& question, const Output& output) {
  if (question.other == SnapshotId{}) return invalid("a difference needs a second snapshot: diff ID OTHER");
  auto first = decode_calls(directory, question.id, question);
  if (!first) return first.error();
  auto second = decode_calls(directory, question.other, question);
  if (!second) return second.error();
  const CallDifference difference =
      difference_of(first->named(false), first->time(), second->named(false), second->time());
  std::string out;
  if (question.format == Format::kTable) {
    out = "first: " + question.id.hex() + "\n" + answer_head(first->snapshot(), first->summary) +
          "second: " + question.other.hex() + "\n" + answer_head(second->snapshot(), second->summary) + "\n" +
          diff_table(difference, second->time(), question.limit);
  } else if (question.format == Format::kSvg) {
    out = diff_svg(difference, second->time(),
                   "first: " + caption_text(first->snapshot(), first->summary) +
                       "; second: " + caption_text(second->snapshot(), second->summary));
  } else {
    net::JsonWriter json(out);
    json.begin_object();
    for (const auto& [name, decoded] : {std::pair("first", &*first), std::pair("second", &*second)}) {
      json.key(name).begin_object();
      answer_head_json(json, decoded->snapshot(), decoded->summary);
      json.end_object();
    }
    diff_json(json, difference, question.limit);
    json.end_object();
    out += "\n";
  }
  output(out);
  return {};
}

}  // namespace fathom::snapshot
