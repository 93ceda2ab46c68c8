#include "snapshot/analyze/syscalls_answer.h"

#include <algorithm>

#include "base/table.h"
#include "base/text.h"
#include "snapshot/analyze/answer_context.h"
#include "snapshot/analyze/answer_head.h"
#include "snapshot/analyze/svg.h"
#include "snapshot/analyze/syscall_flow.h"

namespace fathom::snapshot {
namespace {

struct Call {
  std::string name;
  const SyscallStats* stats = nullptr;
};

struct Syscalls {
  const AnswerContext& context;
  const SyscallFindings& findings;
  const DecodeSummary& summary;
  std::vector<Call> calls;  // by total time

  std::string time_text(uint64_t value) const { return context.time().text(value); }
  // Of calls none of which has a known time there is none to tell.
  std::string time_cell(const SyscallStats& stats, uint64_t value) const {
    return stats.latency.count() == 0 ? "-" : time_text(value);
  }
};

std::vector<Call> by_total(const SyscallFindings& findings, uint64_t limit) {
  std::vector<Call> calls;
  for (const auto& [name, stats] : findings.calls) calls.push_back({name, &stats});
  std::ranges::stable_sort(calls, [](const Call& a, const Call& b) {
    return std::pair(a.stats->latency.sum(), a.stats->count) > std::pair(b.stats->latency.sum(), b.stats->count);
  });
  if (limit != 0 && calls.size() > limit) calls.resize(limit);
  return calls;
}

// What is no part of the table's numbers.
std::string left_out_calls_text(const SyscallFindings& findings) {
  std::string text;
  const auto add = [&](uint64_t count, std::string_view what) {
    if (count > 0) text += (text.empty() ? "" : ", ") + group_digits(count) + " " + std::string(what);
  };
  add(findings.unfinished, "not finished");
  add(findings.cut, "cut by a gap");
  add(findings.untimed, "without a known time");
  return text.empty() ? text : "calls besides: " + text + "\n";
}

std::string table_of(const Syscalls& answer) {
  Table table({{"CALL", Align::kLeft, true},
               {"COUNT", Align::kRight},
               {"TOTAL", Align::kRight},
               {"P50", Align::kRight},
               {"P99", Align::kRight},
               {"MAX", Align::kRight},
               {"INTERRUPTED", Align::kRight},
               {"THREAD", Align::kRight},
               {"MAX BEGINS", Align::kRight}});
  for (const auto& [name, stats] : answer.calls) {
    const Distribution& latency = stats->latency;
    const auto cell = [&](uint64_t value) { return answer.time_cell(*stats, value); };
    table.add({name, group_digits(stats->count), cell(latency.sum()), cell(latency.quantile(0.5)),
               cell(latency.quantile(0.99)), cell(latency.max()), group_digits(stats->interrupted),
               stats->longest_tid < 0 ? "" : std::to_string(stats->longest_tid),
               answer.context.since_begin_text(stats->longest_begin_tsc)});
  }
  std::string out = head_text(answer.context.snapshot());
  out += "the longest call's begin in " + std::string(answer.context.time().unit()) + " since the snapshot's\n\n";
  out += table.empty() ? "no system call was recorded\n" : table.render(0);
  return out + "\n" + left_out_calls_text(answer.findings) + gaps_text(answer.summary);
}

void call_json(net::JsonWriter& json, const Syscalls& answer, const Call& call) {
  json.begin_object().member("call", std::string_view(call.name)).member("count", call.stats->count);
  json.member("interrupted", call.stats->interrupted).key("latency");
  distribution_json(json, call.stats->latency);
  if (call.stats->longest_tid >= 0) {
    json.key("longest").begin_object().member("tid", call.stats->longest_tid);
    if (const auto begin = answer.context.since_begin(call.stats->longest_begin_tsc)) json.member("begin", *begin);
    json.end_object();
  }
  json.end_object();
}

std::string json_of(const Syscalls& answer) {
  std::string out;
  net::JsonWriter json(out);
  json.begin_object();
  head_json(json, answer.context.snapshot());
  json.member("time_unit", answer.context.time().unit()).key("calls").begin_array();
  for (const Call& call : answer.calls) call_json(json, answer, call);
  json.end_array().member("unfinished", answer.findings.unfinished).member("cut", answer.findings.cut);
  json.member("untimed", answer.findings.untimed);
  gaps_json(json, answer.summary);
  json.end_object();
  return out + "\n";
}

// "12 times, 3.1 us, p50 200 ns, max 1.2 us"
std::string times_text(const Syscalls& answer, const SyscallStats& stats) {
  const std::string count = group_digits(stats.count) + " times";
  if (stats.latency.count() == 0) return count + ", time not known";
  return count + ", " + answer.time_text(stats.latency.sum()) + ", p50 " +
         answer.time_text(stats.latency.quantile(0.5)) + ", max " + answer.time_text(stats.latency.max());
}

constexpr size_t kMostDrawn = 30;

std::string svg_of(const Syscalls& answer) {
  const size_t count = std::min(answer.calls.size(), kMostDrawn);
  const double height = 90 + 24 * static_cast<double>(count);
  Svg svg(1000, height);
  svg.text(20, 24, "System calls by total time", 16);
  const uint64_t most = count == 0 ? 1 : std::max<uint64_t>(answer.calls[0].stats->latency.sum(), 1);
  for (size_t i = 0; i < count; ++i) {
    const Call& call = answer.calls[i];
    const Distribution& latency = call.stats->latency;
    const double y = 44 + 24 * static_cast<double>(i);
    const double width = 440 * static_cast<double>(latency.sum()) / static_cast<double>(most);
    svg.text(170, y + 13, cut_to_width(call.name, 24), 12, "end");
    svg.rect(180, y, std::max(width, 1.0), 18, "#80b1d3", call.name);
    svg.text(188 + width, y + 13, times_text(answer, *call.stats), 11);
  }
  svg.text(20, height - 14, caption_text(answer.context.snapshot(), answer.summary));
  return std::move(svg).finish();
}

}  // namespace

Result<> answer_syscalls(const SnapshotDirectory& directory, const Question& question, const Output& output) {
  auto context = AnswerContext::open(directory, question.id);
  if (!context) return context.error();
  SyscallFlow flow(**context, question.tid);
  auto summary = (*context)->decode(question, flow);
  if (!summary) return summary.error();
  const DecodeSummary all = summary->value_or(DecodeSummary{});
  const SyscallFindings& findings = flow.findings();
  const Syscalls answer{**context, findings, all, by_total(findings, question.limit)};
  const bool is_json = question.format == Format::kJson;
  output(is_json ? json_of(answer) : question.format == Format::kSvg ? svg_of(answer) : table_of(answer));
  return {};
}

}  // namespace fathom::snapshot
