#include "snapshot/analyze/sunburst_answer.h"

#include "snapshot/analyze/answer_head.h"
#include "snapshot/analyze/code_labels.h"
#include "snapshot/analyze/icicle.h"

namespace fathom::snapshot {

namespace {

std::vector<IciclePiece> ring_pieces(const NamedCalls& calls) {
  std::vector<IciclePiece> pieces;
  for (const CallRow& row : calls.rows) {
    std::string title = row.name + "\n" + group_digits(row.total.instructions) + " instructions, " +
                        percent_text(row.total.instructions, calls.rows[0].total.instructions) + "\nitself " +
                        group_digits(row.self.instructions) + ", calls " + group_digits(row.self.calls);
    pieces.push_back({row.name, std::move(title), row.parent, row.depth, row.total.instructions,
                      row.depth == 0 ? "#eee"
                      : row.is_gap   ? "#999"
                                     : name_colour(row.name)});
  }
  return pieces;
}

}  // namespace

std::string sunburst_table(const NamedCalls& calls, uint64_t limit) {
  NumberTable table({"share", "insns", "self insns", "calls", "function"});
  const std::vector<bool> chosen = greatest_rows(calls, limit);
  for (size_t i = 0; i < calls.rows.size(); ++i) {
    const CallRow& row = calls.rows[i];
    if (!chosen[i]) continue;
    table.add({percent_text(row.total.instructions, calls.rows[0].total.instructions),
               count_cell(row.total.instructions), count_cell(row.self.instructions), count_cell(row.self.calls),
               std::string(row.depth * 2, ' ') + short_function_name(row.name)});
  }
  return table.text() + left_out_text(table.size(), calls.rows.size());
}

void sunburst_json(net::JsonWriter& json, const NamedCalls& calls, uint64_t limit) {
  const std::vector<bool> chosen = greatest_rows(calls, limit);
  const std::vector<uint64_t> offsets = piece_offsets(ring_pieces(calls));
  const double all = std::max<double>(1, static_cast<double>(calls.rows[0].total.instructions));
  json.key("rings").begin_array();
  for (size_t i = 0; i < calls.rows.size(); ++i) {
    const CallRow& row = calls.rows[i];
    if (!chosen[i]) continue;
    json.begin_object().member("id", i).key("parent");
    i == 0 ? json.null() : json.number(row.parent);
    json.member("ring", row.depth).member("name", row.name).member("calls", row.self.calls);
    json.member("instructions", row.self.instructions).member("total_instructions", row.total.instructions);
    json.key("from").real(static_cast<double>(offsets[i]) / all);
    json.key("to").real(static_cast<double>(offsets[i] + row.total.instructions) / all).end_object();
  }
  json.end_array();
}

std::string sunburst_svg(const NamedCalls& calls, std::string_view caption) {
  return draw_sunburst(ring_pieces(calls), caption);
}

Result<> answer_sunburst(const SnapshotDirectory& directory, const Question& question, const Output& output) {
  auto decoded = decode_calls(directory, question.id, question);
  if (!decoded) return decoded.error();
  const NamedCalls calls = decoded->named(decoded->stacks->threads().size() > 1);
  std::string out;
  if (question.format == Format::kTable) {
    out =
        answer_head(decoded->snapshot(), decoded->summary, question.tid) + "\n" + sunburst_table(calls, question.limit);
  } else if (question.format == Format::kSvg) {
    out = sunburst_svg(calls, caption_text(decoded->snapshot(), decoded->summary));
  } else {
    net::JsonWriter json(out);
    json.begin_object();
    answer_head_json(json, decoded->snapshot(), decoded->summary);
    sunburst_json(json, calls, question.limit);
    json.end_object();
    out += "\n";
  }
  output(out);
  return {};
}

}  // namespace fathom::snapshot
