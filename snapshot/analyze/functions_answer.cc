#include "snapshot/analyze/functions_answer.h"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

#include "snapshot/analyze/answer_head.h"
#include "snapshot/analyze/code_labels.h"

namespace fathom::snapshot {

namespace {

constexpr size_t kMostPictured = 60;

size_t shown(const std::vector<FunctionRow>& rows, uint64_t limit) {
  return limit == 0 ? rows.size() : std::min<uint64_t>(limit, rows.size());
}

std::string quantile_cell(const FunctionRow& row, const TraceTime& time, double q) {
  return row.ticks.empty() ? "-" : took_text(time, row.ticks.quantile_nano(q));
}

// Rows as functions, each counted once on every path.
class Gather {
 public:
  void add(const CallRow& row) {
    while (!open_.empty() && open_.back().first >= row.depth) leave();
    auto [at, fresh] = places_.try_emplace(row.name, rows_.size());
    if (fresh) rows_.emplace_back().name = row.name;
    rows_[at->second].self.add(row.self);
    if (inside_[at->second]++ == 0) rows_[at->second].total.add(row.total);
    open_.emplace_back(row.depth, at->second);
  }
  std::vector<FunctionRow> take() { return std::move(rows_); }
  FunctionRow* find(const std::string& name) {
    auto at = places_.find(name);
    return at == places_.end() ? nullptr : &rows_[at->second];
  }

 private:
  void leave() {
    --inside_[open_.back().second];
    open_.pop_back();
  }

  std::vector<FunctionRow> rows_;
  std::unordered_map<std::string, size_t> places_;
  std::unordered_map<size_t, size_t> inside_;
  std::vector<std::pair<uint32_t, size_t>> open_;
};

// Powers of two of the histogram's unit, with counts.
std::map<int, uint64_t> octaves(const Histogram& ticks, const TraceTime& time) {
  std::map<int, uint64_t> octaves;
  for (const auto& [bucket, count] : ticks.buckets()) {
    octaves[std::bit_width(time.duration(Histogram::bucket_middle_nano(bucket)))] += count;
  }
  return octaves;
}

void draw_bars(Svg& svg, const FunctionRow& row, const TraceTime& time, double x, double y, int first) {
  constexpr double kBar = 14, kHeight = 20;
  const auto bars = octaves(row.ticks, time);
  uint64_t most = 1;
  for (const auto& [octave, count] : bars) most = std::max(most, count);
  for (const auto& [octave, count] : bars) {
    const double height = std::max(1.0, kHeight * static_cast<double>(count) / static_cast<double>(most));
    const uint64_t high = octave == 0 ? 0 : (octave >= 64 ? UINT64_MAX : (uint64_t{1} << octave) - 1);
    svg.rect(x + (octave - first) * kBar, y + kHeight - height, kBar - 1, height, "#80b1d3",
             row.name + "\n" + group_digits(count) + " calls up to " + time.text(high));
  }
}

}  // namespace

std::vector<FunctionRow> function_rows(const NamedCalls& calls, const FunctionLatencies& latencies,
                                       const FunctionNames& names) {
  Gather gather;
  for (const CallRow& row : calls.rows) {
    if (row.function != nullptr && !row.is_gap) gather.add(row);
  }
  for (const auto& [function, ticks] : latencies) {
    if (FunctionRow* row = gather.find(names(*function))) row->ticks.merge(ticks);
  }
  std::vector<FunctionRow> rows = gather.take();
  std::ranges::sort(rows, [](const FunctionRow& a, const FunctionRow& b) {
    const auto key = [](const FunctionRow& row) {
      return std::pair(row.total.elapsed_ticks(), row.total.instructions);
    };
    return key(a) != key(b) ? key(a) > key(b) : a.name < b.name;
  });
  return rows;
}

std::string functions_table(const std::vector<FunctionRow>& rows, const TraceTime& time, uint64_t limit) {
  NumberTable table(
      {"count", "took p50", "p99", "max", "calls", "time", "self time", "paused", "insns", "self insns", "function"});
  bool uncalled = false;
  for (size_t i = 0; i < lines_shown(rows.size(), limit); ++i) {
    const FunctionRow& row = rows[i];
    uncalled = uncalled || row.self.calls == 0;
    table.add({count_cell(row.ticks.count()), quantile_cell(row, time, 0.5), quantile_cell(row, time, 0.99),
               quantile_cell(row, time, 1), count_cell(row.self.calls), time_cell(time, row.total.ticks),
               time_cell(time, row.self.ticks), time_cell(time, row.total.pause_ticks),
               count_cell(row.total.instructions), count_cell(row.self.instructions), short_function_name(row.name)});
  }
  std::string text = table.text();
  if (table.size() < rows.size()) text += "and " + group_digits(rows.size() - table.size()) + " more\n";
  return text + time_note() + uncalled_note(uncalled);
}

void functions_json(net::JsonWriter& json, const std::vector<FunctionRow>& rows, const TraceTime& time,
                    uint64_t limit) {
  json.key("functions").begin_array();
  for (size_t i = 0; i < shown(rows, limit); ++i) {
    const FunctionRow& row = rows[i];
    json.begin_object().member("name", row.name).member("calls", row.self.calls);
    json.member("instructions", row.self.instructions).member("total_instructions", row.total.instructions);
    json.member("time", time.duration(row.self.ticks)).member("total_time", time.duration(row.total.ticks));
    json.member("paused", time.duration(row.self.pause_ticks));
    json.member("total_paused", time.duration(row.total.pause_ticks));
    json.key("took").begin_object().member("count", row.ticks.count());
    if (!row.ticks.empty()) {
      json.member("p50", time.duration(row.ticks.quantile_nano(0.5)));
      json.member("p99", time.duration(row.ticks.quantile_nano(0.99)))
          .member("max", time.duration(row.ticks.max_nano()));
    }
    json.key("buckets").begin_array();
    for (const auto& [bucket, count] : row.ticks.buckets()) {
      json.begin_object().member("above", time.duration(Histogram::bucket_low_nano(bucket)));
      json.member("up_to", time.duration(Histogram::bucket_high_nano(bucket))).member("count", count).end_object();
    }
    json.end_array().end_object().end_object();
  }
  json.end_array();
}

std::string functions_svg(const std::vector<FunctionRow>& rows, const TraceTime& time, uint64_t limit,
                          std::string_view caption) {
  constexpr double kRow = 28, kBars = 520;
  std::vector<const FunctionRow*> pictured;
  for (size_t i = 0; i < shown(rows, limit) && pictured.size() < kMostPictured; ++i) {
    if (!rows[i].ticks.empty()) pictured.push_back(&rows[i]);
  }
  int first = 64;
  for (const FunctionRow* row : pictured) first = std::min(first, octaves(row->ticks, time).begin()->first);
  Svg svg(1200, static_cast<double>(pictured.size()) * kRow + 40);
  double y = 4;
  for (const FunctionRow* row : pictured) {
    svg.text(4, y + 16, cut_to_width(printable(row->name), 44));
    svg.text(kBars - 12, y + 16,
             group_digits(row->ticks.count()) + "x  p50 " + quantile_cell(*row, time, 0.5) + "  p99 " +
                 quantile_cell(*row, time, 0.99) + "  max " + quantile_cell(*row, time, 1),
             10, "end");
    draw_bars(svg, *row, time, kBars, y, first);
    y += kRow;
  }
  svg.text(4, y + 18, caption, 11);
  return std::move(svg).finish();
}

Result<> answer_functions(const SnapshotDirectory& directory, const Question& question, const Output& output) {
  CallOptions options;
  options.latencies = true;
  auto decoded = decode_calls(directory, question.id, question, options);
  if (!decoded) return decoded.error();
  const auto rows = function_rows(decoded->named(false), decoded->stacks->latencies(),
                                  [&](const CallFunction& function) { return decoded->name(function); });
  std::string out;
  if (question.format == Format::kTable) {
    out = answer_head(decoded->snapshot(), decoded->summary, question.tid) + "\n" +
          functions_table(rows, decoded->time(), question.limit);
  } else if (question.format == Format::kSvg) {
    out = functions_svg(rows, decoded->time(), question.limit, caption_text(decoded->snapshot(), decoded->summary));
  } else {
    net::JsonWriter json(out);
    json.begin_object();
    answer_head_json(json, decoded->snapshot(), decoded->summary);
    functions_json(json, rows, decoded->time(), question.limit);
    json.end_object();
    out += "\n";
  }
  output(out);
  return {};
}

}  // namespace fathom::snapshot
