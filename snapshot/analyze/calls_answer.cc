#include "snapshot/analyze/calls_answer.h"

#include "snapshot/analyze/answer_head.h"
#include "snapshot/analyze/code_labels.h"
#include "snapshot/analyze/icicle.h"
#include "snapshot/analyze/source_notes.h"

namespace fathom::snapshot {

namespace {

constexpr size_t kSourceColumns = 72;

// Of a row that called nobody: its own line is where all of it ran.
bool is_leaf(const CallRow& row, size_t id) {
  return row.function != nullptr && !row.is_gap && row.end == id + 1 && row.self.instructions > 0;
}

std::string with_source(const std::string& place, const std::string& source) {
  return source.empty() ? place : place + ": " + cut_to_width(source, kSourceColumns);
}

// "log.cc:31: fsync(fd); in Log::flush(), inlined at shop.cc:120: reserve(r);"
std::string line_text(const RowLine& line) {
  std::string own = with_source(line.place, line.source);
  if (!line.inlined) return own;
  const InlinedLine& inlined = *line.inlined;
  const std::string function = inlined.function.empty() ? "" : " in " + short_function_name(inlined.function);
  return with_source(inlined.place, inlined.source) + function + ", inlined at " + own;
}

std::string lines_text(const RowLines& lines, bool leaf) {
  const std::string self = leaf && !lines.self.place.empty() ? "itself at " + line_text(lines.self) : "";
  const std::string from = line_text(lines.called_from);
  if (from.empty() && self.empty()) return "";
  const std::string between = from.empty() || self.empty() ? "" : from.ends_with(';') ? " " : "; ";
  return "  (" + from + between + self + ")";
}

// The dynamic linker's work at the first call of a function of another library. It is labelled because stepping and
// tracing make it look long, and it is not the caller's own work.
bool is_lazy_binding(const CallRow& row) {
  return row.function != nullptr && row.name.starts_with("_dl_runtime_resolve");
}

std::string row_name(const CallRow& row, size_t id, const CallLines& lines) {
  const std::string label = is_lazy_binding(row) ? " (lazy binding)" : "";
  const std::string name = std::string(row.depth * 2, ' ') + short_function_name(row.name) + label;
  return lines ? name + lines_text(lines(row), is_leaf(row, id)) : name;
}

std::string bounds_text(const CallRow& row, const TraceTime& time) {
  if (row.self.complete == 0) return "-";
  if (row.self.max_ticks == 0) return took_text(time, 0);
  return took_text(time, row.self.min_ticks) + " .. " + took_text(time, row.self.max_ticks);
}

void line_json(net::JsonWriter& json, const std::string& of, const RowLine& line) {
  json.member(of + "_line", std::string_view(line.place));
  if (!line.source.empty()) json.member(of + "_source", std::string_view(line.source));
  if (!line.inlined) return;
  json.key(of + "_inlined").begin_object().member("function", std::string_view(line.inlined->function));
  json.member("line", std::string_view(line.inlined->place));
  if (!line.inlined->source.empty()) json.member("source", std::string_view(line.inlined->source));
  json.end_object();
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
  if (is_lazy_binding(row)) json.member("lazy_binding", true);
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
  const RowLines known = lines ? lines(row) : RowLines{};
  if (row.called_from != 0) {
    json.member("called_from", std::string_view(hex_address(row.called_from)));
    if (lines) line_json(json, "called_from", known.called_from);
  }
  if (row.self.instructions > 0 && !known.self.place.empty()) line_json(json, "self", known.self);
  json.end_object();
}

// The line in the function that has a symbol (the caller in the tree), and the line in the function inlined there.
RowLine line_at(const DecodedCalls& decoded, SourceNotes& notes, const CallFunction& function, uint64_t ip) {
  const CodeNames& names = decoded.context->names();
  const auto own = ip == 0 ? std::nullopt : names.own_line(function.pid, function.tsc, ip);
  if (!own) return {};
  RowLine line{short_line(*own), notes.text(*own)};
  const std::vector<SourceFrame> frames = names.frames(function.pid, function.tsc, ip);
  if (const SourceFrame* inlined = innermost_own_inlined(frames)) {
    line.inlined = InlinedLine{inlined->function, short_line(inlined->at), notes.text(inlined->at)};
  }
  return line;
}

// One name may be several processes' functions, at addresses of their own.
uint64_t self_address(const CallRow& row) {
  const CallFunction& function = *row.function;
  if (row.seen_at >= function.begin && row.seen_at < function.end) return row.seen_at;
  return function.symbol ? function.begin : function.entry;
}

RowLines row_lines(const DecodedCalls& decoded, SourceNotes& notes, const CallRow& row) {
  if (row.function == nullptr || row.is_gap) return {};
  return {line_at(decoded, notes, *row.function, row.called_from),
          line_at(decoded, notes, *row.function, self_address(row))};
}

}  // namespace

std::string calls_table(const NamedCalls& calls, const TraceTime& time, uint64_t limit, const CallLines& lines) {
  NumberTable table({"calls", "elapsed", "insns", "self insns", "time", "self time", "paused",
                     "a call took (min .. max)", lines ? "function (where it was called; where it ran)" : "function"});
  const std::vector<bool> chosen = greatest_rows(calls, lines_shown(calls.rows.size(), limit));
  bool uncalled = false;
  for (size_t i = 0; i < calls.rows.size(); ++i) {
    const CallRow& row = calls.rows[i];
    if (!chosen[i]) continue;
    uncalled = uncalled || (row.function != nullptr && row.self.calls == 0);
    table.add({count_cell(row.self.calls), time_cell(time, row.total.elapsed_ticks()),
               count_cell(row.total.instructions), count_cell(row.self.instructions), time_cell(time, row.total.ticks),
               time_cell(time, row.self.ticks), time_cell(time, row.total.pause_ticks), bounds_text(row, time),
               row_name(row, i, lines)});
  }
  return table.text() + left_out_text(table.size(), calls.rows.size(), calls.rank) + time_note() +
         "elapsed: time and paused together\n" + uncalled_note(uncalled);
}

void calls_json(net::JsonWriter& json, const NamedCalls& calls, const TraceTime& time, uint64_t limit,
                const CallLines& lines) {
  const std::vector<bool> chosen = greatest_rows(calls, limit);
  json.member("ranked_by", calls.rank == CallRank::kTime ? "time" : "instructions");
  json.key("rows").begin_array();
  for (size_t i = 0; i < calls.rows.size(); ++i) {
    if (chosen[i]) row_json(json, calls.rows[i], i, time, lines);
  }
  json.end_array();
}

std::string rank_line(CallRank rank, bool by_instructions) {
  if (rank == CallRank::kTime) return "ranked by elapsed time, pauses included; --by instructions changes that\n";
  return by_instructions ? "ranked by instructions\n" : "ranked by instructions: the snapshot has no times\n";
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
    pieces.push_back({row.name, std::move(title), row.parent, row.depth, calls.size(row),
                      row.is_gap ? "#999" : name_colour(row.name)});
  }
  return draw_icicle(pieces, caption);
}

Result<> answer_calls(const SnapshotDirectory& directory, const Question& question, const Output& output) {
  auto decoded = decode_calls(directory, question.id, question);
  if (!decoded) return decoded.error();
  const NamedCalls calls = decoded->named(true, question.by_instructions ? CallRank::kInstructions : CallRank::kTime);
  SourceNotes notes(decoded->context->names(), question);
  const CallLines lines = [&](const CallRow& row) { return row_lines(*decoded, notes, row); };
  std::string out;
  if (question.format == Format::kTable) {
    out = answer_head(decoded->snapshot(), decoded->summary, question.tid) +
          rank_line(calls.rank, question.by_instructions) + "\n" +
          calls_table(calls, decoded->time(), question.limit, lines);
    out += notes.missing_text();
  } else if (question.format == Format::kSvg) {
    const std::string width = calls.rank == CallRank::kTime ? "elapsed time, pauses included" : "instructions";
    out = calls_svg(calls, decoded->time(), caption_text(decoded->snapshot(), decoded->summary) + "; width: " + width);
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
