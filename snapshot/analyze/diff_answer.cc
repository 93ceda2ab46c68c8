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

// The rows to show, in order: those that differ, and of those the ones that gained or lost most.
std::vector<size_t> different_rows(const CallDifference& difference, uint64_t limit) {
  std::vector<size_t> rows;
  for (size_t i = 1; i < difference.rows.size(); ++i) {
    if (!difference.rows[i].same()) rows.push_back(i);
  }
  if (limit == 0 || rows.size() <= limit) return rows;
  std::ranges::stable_sort(rows, std::ranges::greater{},
                           [&](size_t row) { return std::llabs(difference.rows[row].instructions()); });
  rows.resize(limit);
  std::ranges::sort(rows);
  return rows;
}

std::string sign_of(const DifferenceRow& row) {
  return row.in_first == row.in_second ? " " : row.in_second ? "+" : "-";
}

std::string summary_text(const CallDifference& difference, const TraceTime& time, bool with_time) {
  const DifferenceRow& all = difference.rows[0];
  std::string text = "instructions: " + group_digits(all.first.instructions) + " -> " +
                     group_digits(all.second.instructions) + " (" + signed_cell(all.instructions()) + ")\n";
  if (with_time) {
    text += "time: " + time.text(all.first.time) + " -> " + time.text(all.second.time) + " (" +
            time_difference(time, all.time()) + ")\n";
    text += "paused: " + time.text(all.first.paused) + " -> " + time.text(all.second.paused) + " (" +
            time_difference(time, all.paused()) + ")\n";
  }
  text += "added: " + group_digits(difference.paths_added) + " paths, " + group_digits(difference.calls_added) +
          " calls; removed: " + group_digits(difference.paths_removed) + " paths, " +
          group_digits(difference.calls_removed) + " calls\n";
  return text;
}

void amounts_json(net::JsonWriter& json, std::string_view name, const CallAmounts& amounts, bool with_time) {
  json.key(name).begin_object().member("calls", amounts.calls).member("instructions", amounts.self_instructions);
  json.member("total_instructions", amounts.instructions);
  if (with_time) json.member("total_time", amounts.time).member("total_paused", amounts.paused);
  json.end_object();
}

// Red and blue, the stronger the more of the row changed.
std::string change_colour(const DifferenceRow& row) {
  const auto most = static_cast<double>(std::max<uint64_t>({1, row.first.instructions, row.second.instructions}));
  const double share = static_cast<double>(row.instructions()) / most;
  const int faded = 235 - static_cast<int>(std::min(1.0, std::abs(share)) * 140);
  const std::string weak = std::to_string(faded);
  if (row.instructions() > 0) return "rgb(245," + weak + "," + weak + ")";
  if (row.instructions() < 0) return "rgb(" + weak + "," + weak + ",245)";
  return "#ddd";
}

}  // namespace

std::string diff_table(const CallDifference& difference, const TraceTime& time, bool with_time, uint64_t limit) {
  NumberTable table({"calls", "insns", "self insns", "time", "paused", "   function"});
  for (size_t i : different_rows(difference, limit)) {
    const DifferenceRow& row = difference.rows[i];
    table.add({signed_cell(row.calls()), signed_cell(row.instructions()), signed_cell(row.self_instructions()),
               with_time ? time_difference(time, row.time()) : "-",
               with_time ? time_difference(time, row.paused()) : "-",
               sign_of(row) + std::string(row.depth * 2, ' ') + short_function_name(row.name)});
  }
  return summary_text(difference, time, with_time) + "\n" + (table.size() == 0 ? "no path differs\n" : table.text());
}

void diff_json(net::JsonWriter& json, const CallDifference& difference, bool with_time, uint64_t limit) {
  json.member("paths_added", difference.paths_added).member("paths_removed", difference.paths_removed);
  json.member("calls_added", difference.calls_added).member("calls_removed", difference.calls_removed);
  std::vector<size_t> chosen;
  if (limit > 0) chosen = different_rows(difference, limit);
  json.key("rows").begin_array();
  for (size_t i = 0; i < difference.rows.size(); ++i) {
    const DifferenceRow& row = difference.rows[i];
    if (limit > 0 && i > 0 && !std::ranges::binary_search(chosen, i)) continue;
    json.begin_object().member("id", i).key("parent");
    i == 0 ? json.null() : json.number(row.parent);
    json.member("depth", row.depth).member("name", row.name);
    json.member("change", !row.in_first ? "added" : !row.in_second ? "removed" : row.same() ? "same" : "changed");
    amounts_json(json, "first", row.first, with_time);
    amounts_json(json, "second", row.second, with_time);
    json.end_object();
  }
  json.end_array();
}

std::string diff_svg(const CallDifference& difference, std::string_view caption) {
  std::vector<IciclePiece> pieces;
  std::vector<uint64_t> below(difference.rows.size());  // values of children, which are not to be wider than a parent
  std::vector<uint64_t> values(difference.rows.size());
  for (size_t i = difference.rows.size(); i-- > 0;) {
    const DifferenceRow& row = difference.rows[i];
    values[i] = std::max({row.first.instructions, row.second.instructions, below[i]});
    if (i > 0) below[row.parent] += values[i];
  }
  for (size_t i = 0; i < difference.rows.size(); ++i) {
    const DifferenceRow& row = difference.rows[i];
    std::string title = row.name + "\ninstructions " + group_digits(row.first.instructions) + " -> " +
                        group_digits(row.second.instructions) + " (" + signed_cell(row.instructions()) + ")\ncalls " +
                        group_digits(row.first.calls) + " -> " + group_digits(row.second.calls);
    pieces.push_back({row.name, std::move(title), row.parent, row.depth, values[i], change_colour(row)});
  }
  return draw_icicle(pieces, caption);
}

Result<> answer_diff(const SnapshotDirectory& directory, const Question& question, const Output& output) {
  if (question.other == SnapshotId{}) return invalid("a difference needs a second snapshot: diff ID OTHER");
  auto first = decode_calls(directory, question.id, question);
  if (!first) return first.error();
  auto second = decode_calls(directory, question.other, question);
  if (!second) return second.error();
  const CallDifference difference =
      difference_of(first->named(false), first->time(), second->named(false), second->time());
  const bool with_time = first->time().unit() == second->time().unit();
  std::string out;
  if (question.format == Format::kTable) {
    out = "first: " + question.id.hex() + "\n" + answer_head(first->snapshot(), first->summary) +
          "second: " + question.other.hex() + "\n" + answer_head(second->snapshot(), second->summary) + "\n" +
          diff_table(difference, second->time(), with_time, question.limit);
  } else if (question.format == Format::kSvg) {
    out = diff_svg(difference, "first: " + caption_text(first->snapshot(), first->summary) +
                                   "; second: " + caption_text(second->snapshot(), second->summary));
  } else {
    net::JsonWriter json(out);
    json.begin_object();
    for (const auto& [name, decoded] : {std::pair("first", &*first), std::pair("second", &*second)}) {
      json.key(name).begin_object();
      answer_head_json(json, decoded->snapshot(), decoded->summary);
      json.end_object();
    }
    diff_json(json, difference, with_time, question.limit);
    json.end_object();
    out += "\n";
  }
  output(out);
  return {};
}

}  // namespace fathom::snapshot
