#include "snapshot/analyze/call_answer.h"

#include <algorithm>
#include <cstdio>

#include "snapshot/analyze/answer_head.h"
#include "snapshot/analyze/code_extents.h"
#include "snapshot/format/held_locks.h"

namespace fathom::snapshot {

std::string DecodedCalls::name(const CallFunction& function) const {
  return function_name(context->names(), function);
}

NamedCalls DecodedCalls::named(bool by_thread, CallRank rank) const {
  ThreadNames threads;
  if (by_thread) {
    threads = [this](const ThreadKey& key) {
      const std::string name = context->thread_name(key.tid);
      if (key.tid < 0) return "stream " + std::to_string(key.stream);
      return "thread " + std::to_string(key.tid) + (name.empty() ? "" : " " + name);
    };
  }
  return name_calls(
      stacks->threads(), [this](const CallFunction& function) { return name(function); }, threads,
      foremost_threads(snapshot()), rank);
}

Result<DecodedCalls> decode_calls(const SnapshotDirectory& directory, const SnapshotId& id, const Question& question,
                                  CallOptions options) {
  auto context = AnswerContext::open(directory, id);
  if (!context) return context.error();
  DecodedCalls calls;
  calls.context = std::move(*context);
  calls.extents = std::make_unique<SymbolExtents>(calls.context->names(), calls.context->map());
  options.tid = question.tid;
  calls.stacks = std::make_unique<CallStacks>(calls.snapshot(), *calls.extents, options);
  auto summary = calls.context->decode(question, *calls.stacks);
  if (!summary) return summary.error();
  calls.summary = summary->value_or(DecodeSummary{});
  calls.stacks->finish();
  return calls;
}

std::string answer_head(const Snapshot& snapshot, const DecodeSummary& summary, int32_t tid) {
  return head_text(snapshot) + "instructions: " + group_digits(summary.instructions) +
         (tid < 0 ? "" : ", of all threads; below: thread " + std::to_string(tid)) + "\n" + gaps_text(summary);
}

void answer_head_json(net::JsonWriter& json, const Snapshot& snapshot, const DecodeSummary& summary) {
  head_json(json, snapshot);
  gaps_json(json, summary);
  json.member("time_unit", TraceTime(snapshot).unit());
}

std::string NumberTable::text() const {
  std::vector<size_t> widths(rows_[0].size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    for (size_t i = 0; i + 1 < row.size(); ++i) text += pad_to_width(row[i], widths[i], Align::kRight) + "  ";
    text += row.back() + "\n";
  }
  return text;
}

std::string left_out_text(size_t shown, size_t all, CallRank rank) {
  if (shown >= all) return "";
  const std::string which = rank == CallRank::kTime ? "that took less time" : "with fewer instructions";
  return "and " + group_digits(all - shown) + " more " + which + "; --limit 0 shows all\n";
}

std::string time_note() {
  return "time: recorded, pauses (system calls, other threads' turns) left out; what a call took has them in it\n";
}

std::string uncalled_note(bool any) {
  return any ? "calls \"-\": its call was not seen; it was under way when recording began, or behind a gap\n" : "";
}

std::string took_text(const TraceTime& time, uint64_t ticks) {
  return time.took_text(time.duration(ticks));
}

std::string time_cell(const TraceTime& time, uint64_t ticks) {
  return ticks == 0 ? "-" : time.text(time.duration(ticks));
}

std::string count_cell(uint64_t count) {
  return count == 0 ? "-" : group_digits(count);
}

std::string signed_cell(int64_t number) {
  if (number == 0) return "-";
  const uint64_t size = number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  return (number < 0 ? "-" : "+") + group_digits(size);
}

std::string percent_text(uint64_t part, uint64_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%",
                whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

}  // namespace fathom::snapshot
