#include "snapshot/analyze/calls_answer.h"

#include "snapshot/analyze/answer_head.h"
#include "snapshot/analyze/code_labels.h"
#include "snapshot/analyze/icicle.h"

namespace fathom::snapshot {

namespace {

std::string row_name(const CallRow& row, const CallLines& lines) {
  const std::string line = lines ? lines(row) : "";
  return std::string(row.depth * 2, ' ') + short_function_name(row.name) + (line.empty() ? "" : "  (" + line + ")");
}

std::string bounds_text(const CallRow& row, const TraceTime& time) {
  if (row.self.complete == 0 || row.self.max_ticks == 0) return "-";
  return time.text(time.duration(row.self.min_ticks)) + " .. " + time.text(time.duration(row.self.max_ticks));
}

void row_json(net::JsonWriter& json, const CallRow& row, size_t id, const TraceTime& time, const CallLines& lines) {
  json.begin_object().member("id", id).key("parent");
  if (id == 0) {
    json.null();
  } else {
    json.number(row.parent);
  }
  json.member("depth", row.depth).member("name", row.name);
  json.member("kind", row.is_gap ? "gap" : row.function != nullptr ? "function" : row.depth == 0 ? "all" : "thread");
  json.member("calls", row.self.calls).member("instructions", row.self.instructions);
  json.member("total_instructions", row.total.instructions).member("time", time.duration(row.self.ticks));
  json.member("total_time", time.duration(row.total.ticks)).member("pauses", row.self.pauses);
  json.member("paused", time.duration(row.self.pause_ticks));
  json.member("total_paused", time.duration(row.total.pause_ticks));
  json.key("took").begin_object().member("count", row.self.complete);
  if (row.self.complete > 0) {
    json.member("min", time.duration(row.self.min_ticks)).member("max", time.duration(row.self.max_ticks));
  }
  json.end_object();
  if (row.called_from != 0) {
    json.member("called_from", std::string_view(hex_address(row.called_from)));
    if (lines) json.member("called_from_line", std::string_view(lines(row)));
  }
  json.end_object();
}

// "shop/shelves.cc:88"; empty where that is not known.
std::string call_line(const DecodedCalls& decoded, const CallRow& row) {
  if (row.called_from == 0 || row.function == nullptr) return "";
  const auto line = decoded.context->names().line(row.function->pid, row.function->tsc, row.called_from);
  return line ? short_line(*line) : "";
}

}  // namespace

std::string calls_table(const NamedCalls& calls, const TraceTime& time, uint64_t limit, const CallLines& lines) {
  NumberTable table({"calls", "insns", "self insns", "time", "self time", "paused", "a call took (min .. max)",
                     lines ? "function (where it was called)" : "function"});
  const std::vector<bool> chosen = greatest_rows(calls, limit);
  for (size_t i = 0; i < calls.rows.size(); ++i) {
    const CallRow& row = calls.rows[i];
    if (!chosen[i]) continue;
    table.add({count_cell(row.self.calls), count_cell(row.total.instructions), count_cell(row.self.instructions),
               time_cell(time, row.total.ticks), time_cell(time, row.self.ticks),
               time_cell(time, row.total.pause_ticks), bounds_text(row, time), row_name(row, lines)});
  }
  std::string text = table.text();
  if (table.size() < calls.rows.size()) {
    text += "and " + group_digits(calls.rows.size() - table.size()) +
            " more with fewer instructions; --limit 0 shows all\n";
  }
  return text + time_note();
}

void calls_json(net::JsonWriter& json, const NamedCalls& calls, const TraceTime& time, uint64_t limit,
                const CallLines& lines) {
  const std::vector<bool> chosen = greatest_rows(calls, limit);
  json.key("rows").begin_array();
  for (size_t i = 0; i < calls.rows.size(); ++i) {
    if (chosen[i]) row_json(json, calls.rows[i], i, time, lines);
  }
  json.end_array();
}

std::string calls_svg(const NamedCalls& calls, const TraceTime& time, std::string_view caption) {
  const uint64_t all = calls.rows[0].total.instructions;
  std::vector<IciclePiece> pieces;
  for (const CallRow& row : calls.rows) {
    std::string title = row.name + "\n" + group_digits(row.total.instructions) + " instructions (" +
                        percent_text(row.total.instructions, all) + "), itself " + group_digits(row.self.instructions) +
                        "\n" + time_cell(time, row.total.ticks) + ", itself " + time_cell(time, row.self.ticks) +
                        ", paused " + time_cell(time, row.total.pause_ticks) + "\n" + count_cell(row.self.calls) +
                        " calls";
    pieces.push_back({row.name, std::move(title), row.parent, row.depth, row.total.instructions,
                      row.is_gap ? "#999" : name_colour(row.name)});
  }
  return draw_icicle(pieces, caption);
}

Result<> answer_calls(const SnapshotDirectory& directory, const Question& question, const Output& output) {
  auto decoded = decode_calls(directory, question.id, question);
  if (!decoded) return decoded.error();
  const NamedCalls calls = decoded->named(true);
  const CallLines lines = [&](const CallRow& row) { return call_line(*decoded, row); };
  std::string out;
  if (question.format == Format::kTable) {
    out = answer_head(decoded->snapshot(), decoded->summary) + "\n" +
          calls_table(calls, decoded->time(), question.limit, lines);
  } else if (question.format == Format::kSvg) {
    out = calls_svg(calls, decoded->time(), caption_text(decoded->snapshot(), decoded->summary));
  } else {
    net::JsonWriter json(out);
    json.begin_object();
    answer_head_json(json, decoded->snapshot(), decoded->summary);
    calls_json(json, calls, decoded->time(), question.limit, lines);
    json.end_object();
    out += "\n";
  }
  output(out);
  return {};
}

}  // namespace fathom::snapshot
