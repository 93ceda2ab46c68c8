#include "snapshot/analyze/delta_answer.h"

#include <algorithm>

#include "base/table.h"
#include "base/text.h"
#include "snapshot/analyze/answer_context.h"
#include "snapshot/analyze/answer_head.h"
#include "snapshot/analyze/delta_flow.h"
#include "snapshot/analyze/distribution.h"
#include "snapshot/analyze/svg.h"

namespace fathom::snapshot {
namespace {

struct Delta {
  const AnswerContext& context;
  const Question& question;
  const InstructionPattern& from;
  const InstructionPattern& to;
  const DeltaFindings& findings;
  const DecodeSummary& summary;

  std::string time_text(uint64_t value) const { return context.time().took_text(value); }
  std::string time_text(const Interval& interval) const {
    return interval.is_timed() ? time_text(context.time().duration(interval.ticks())) : "unknown";
  }
};

struct Row {
  uint64_t address = 0;
  const Occurrence* occurrence = nullptr;
};

std::vector<Row> by_count(const Delta& delta) {
  std::vector<Row> rows;
  for (const auto& [address, occurrence] : delta.findings.occurrences) rows.push_back({address, &occurrence});
  std::ranges::stable_sort(rows, [](const Row& a, const Row& b) { return a.occurrence->count > b.occurrence->count; });
  if (delta.question.limit != 0 && rows.size() > delta.question.limit) rows.resize(delta.question.limit);
  return rows;
}

std::string_view side_of(const Occurrence& occurrence) {
  if (occurrence.is_from && occurrence.is_to) return "both";
  return occurrence.is_from ? "from" : "to";
}

uint64_t total(const DeltaFindings& findings, bool Occurrence::*side) {
  uint64_t count = 0;
  for (const auto& [address, occurrence] : findings.occurrences) count += occurrence.*side ? occurrence.count : 0;
  return count;
}

std::string place_at(const Delta& delta, const Occurrence& occurrence, uint64_t address) {
  const CodePlace place = delta.context.names().find(occurrence.pid, occurrence.tsc, address);
  std::string text = place_name(place, address);
  if (place.function != nullptr) text += "+" + hex_address(place.function_offset);
  return text;
}

// Of an end of an interval; every one is an occurrence.
std::string place_at(const Delta& delta, uint64_t address) {
  const auto found = delta.findings.occurrences.find(address);
  return found == delta.findings.occurrences.end() ? hex_address(address) : place_at(delta, found->second, address);
}

std::string pattern_text(std::string_view side, const InstructionPattern& pattern, uint64_t count) {
  return std::string(side) + printable(pattern.text()) + " (" + pattern.meaning() + "), ran " + group_digits(count) +
         " times\n";
}

std::string intervals_text(const DeltaFindings& findings) {
  std::string text = "intervals: " + group_digits(findings.instructions.count());
  if (findings.broken > 0) text += ", " + group_digits(findings.broken) + " broken by a gap or on another stream";
  if (findings.unclosed > 0) text += ", " + group_digits(findings.unclosed) + " not closed at the end";
  if (findings.untimed > 0) text += ", " + group_digits(findings.untimed) + " without a known time";
  if (findings.unresolved > 0) text += ", " + group_digits(findings.unresolved) + " too short for the recorded times";
  return text + "\n";
}

std::string occurrences_text(const Delta& delta) {
  Table table({{"COUNT", Align::kRight}, {"SIDE"}, {"ADDRESS"}, {"INSTRUCTION", Align::kLeft, true}, {"PLACE"}});
  for (const Row& row : by_count(delta)) {
    table.add({group_digits(row.occurrence->count), std::string(side_of(*row.occurrence)), hex_address(row.address),
               row.occurrence->text, place_at(delta, *row.occurrence, row.address)});
  }
  return table.empty() ? "  none\n" : table.render(0);
}

std::string longest_text(const Delta& delta) {
  Table table({{"TIME", Align::kRight},
               {"INSTRUCTIONS", Align::kRight},
               {"BEGINS", Align::kRight},
               {"THREAD", Align::kRight},
               {"FROM"},
               {"TO"}});
  for (const LongInterval& one : delta.findings.longest) {
    table.add({delta.time_text(one.interval), group_digits(one.interval.instructions),
               delta.context.since_begin_text(one.interval.begin_tsc), std::to_string(one.tid),
               place_at(delta, one.interval.from), place_at(delta, one.interval.to)});
  }
  return table.empty() ? "  none\n" : table.render(0);
}

std::string table_of(const Delta& delta) {
  const auto time = [&](uint64_t value) { return delta.time_text(value); };
  std::string out = head_text(delta.context.snapshot());
  out += pattern_text("from: ", delta.from, total(delta.findings, &Occurrence::is_from));
  out += pattern_text("to:   ", delta.to, total(delta.findings, &Occurrence::is_to));
  out += intervals_text(delta.findings);
  out += "\ntime between them, pauses included\n" + distribution_text(delta.findings.time, time);
  out += "\ninstructions between them\n" + distribution_text(delta.findings.instructions, group_digits);
  out += "\noccurrence\n" + occurrences_text(delta);
  out += "\nlongest (begin in " + std::string(delta.context.time().unit()) + " since the snapshot's)\n";
  return out + longest_text(delta) + "\n" + gaps_text(delta.summary);
}

void pattern_json(net::JsonWriter& json, std::string_view name, const InstructionPattern& pattern, uint64_t count) {
  json.key(name).begin_object().member("pattern", std::string_view(pattern.text()));
  json.member("meaning", std::string_view(pattern.meaning())).member("count", count).end_object();
}

void occurrences_json(net::JsonWriter& json, const Delta& delta) {
  json.key("occurrences").begin_array();
  for (const Row& row : by_count(delta)) {
    json.begin_object().member("count", row.occurrence->count).member("side", side_of(*row.occurrence));
    json.member("address", std::string_view(hex_address(row.address)));
    json.member("instruction", std::string_view(row.occurrence->text));
    json.member("place", std::string_view(place_at(delta, *row.occurrence, row.address))).end_object();
  }
  json.end_array();
}

void longest_json(net::JsonWriter& json, const Delta& delta) {
  json.key("longest").begin_array();
  for (const LongInterval& one : delta.findings.longest) {
    const auto begin = delta.context.since_begin(one.interval.begin_tsc);
    json.begin_object().key("time");
    one.interval.is_timed() ? json.number(delta.context.time().duration(one.interval.ticks())) : json.null();
    json.key("begin");
    begin ? json.number(*begin) : json.null();
    json.member("instructions", one.interval.instructions).member("tid", one.tid);
    json.member("from", std::string_view(hex_address(one.interval.from)));
    json.member("from_place", std::string_view(place_at(delta, one.interval.from)));
    json.member("to", std::string_view(hex_address(one.interval.to)));
    json.member("to_place", std::string_view(place_at(delta, one.interval.to))).end_object();
  }
  json.end_array();
}

std::string json_of(const Delta& delta) {
  std::string out;
  net::JsonWriter json(out);
  json.begin_object();
  head_json(json, delta.context.snapshot());
  pattern_json(json, "from", delta.from, total(delta.findings, &Occurrence::is_from));
  pattern_json(json, "to", delta.to, total(delta.findings, &Occurrence::is_to));
  json.member("time_unit", delta.context.time().unit());
  json.member("broken", delta.findings.broken).member("unclosed", delta.findings.unclosed);
  json.member("untimed", delta.findings.untimed).member("time_unresolved", delta.findings.unresolved);
  json.key("time");
  distribution_json(json, delta.findings.time);
  json.key("instruction_count");
  distribution_json(json, delta.findings.instructions);
  occurrences_json(json, delta);
  longest_json(json, delta);
  gaps_json(json, delta.summary);
  json.end_object();
  return out + "\n";
}

constexpr size_t kDrawnOccurrences = 12;

void draw_occurrences(Svg& svg, double x, double y, const Delta& delta) {
  svg.text(x, y + 14, "Occurrence", 14);
  const auto rows = by_count(delta);
  for (size_t i = 0; i < std::min(rows.size(), kDrawnOccurrences); ++i) {
    const Row& row = rows[i];
    const double top = y + 24 + 18 * static_cast<double>(i);
    const double share = static_cast<double>(row.occurrence->count) / static_cast<double>(rows[0].occurrence->count);
    const std::string name =
        cut_to_width(row.occurrence->text, 32) + "  " + place_at(delta, *row.occurrence, row.address);
    svg.rect(x, top, 300 * share, 14, row.occurrence->is_from ? "#80b1d3" : "#fdb462", name);
    svg.text(x + 308, top + 11, group_digits(row.occurrence->count) + "  " + cut_to_width(name, 70), 11);
  }
}

std::string svg_of(const Delta& delta) {
  Svg svg(900, 830);
  const auto time = [&](uint64_t value) { return delta.time_text(value); };
  svg.text(20, 24, "From " + delta.from.text() + " to " + delta.to.text(), 16);
  draw_distribution(svg, 20, 50, 860, 240, delta.findings.time, "Time", time);
  draw_distribution(svg, 20, 300, 860, 240, delta.findings.instructions, "Instructions", group_digits);
  draw_occurrences(svg, 20, 550, delta);
  svg.text(20, 816, caption_text(delta.context.snapshot(), delta.summary));
  return std::move(svg).finish();
}

}  // namespace

Result<> answer_delta(const SnapshotDirectory& directory, const Question& question, const Output& output) {
  auto context = AnswerContext::open(directory, question.id);
  if (!context) return context.error();
  const Snapshot& snapshot = (*context)->snapshot();
  auto from = InstructionPattern::parse(question.from, snapshot, (*context)->names());
  if (!from) return from.error();
  auto to = InstructionPattern::parse(question.to, snapshot, (*context)->names());
  if (!to) return to.error();
  DeltaFlow flow(**context, *from, *to, question.tid);
  auto summary = (*context)->decode(question, flow);
  if (!summary) return summary.error();
  const DecodeSummary all = summary->value_or(DecodeSummary{});
  const Delta delta{**context, question, *from, *to, flow.findings(), all};
  const bool is_json = question.format == Format::kJson;
  output(is_json ? json_of(delta) : question.format == Format::kSvg ? svg_of(delta) : table_of(delta));
  return {};
}

}  // namespace fathom::snapshot
