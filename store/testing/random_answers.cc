#include "store/testing/random_answers.h"

#include <algorithm>

#include "store/model/span_text.h"
#include "store/testing/span_builder.h"

namespace fathom::store::testing {

namespace {

std::string number(uint64_t value) {
  return std::to_string(value);
}

std::string row_text(const SlowRow& row) {
  return number(number_of(row.trace_id)) + ":" + number(number_of(row.span_id)) + " " + row.service + "/" +
         row.operation + " start=" + number(row.start_unix_nano) + " duration=" + number(row.duration_nano) +
         " root=" + number(row.root_duration_nano) + (row.complete ? " complete" : " incomplete") +
         (row.error ? " error" : "") + (row.oversized ? " oversized\n" : " spans=" + number(row.spans) + "\n");
}

std::pair<uint64_t, SpanId> place(const StoredSpan& stored) {
  return {corrected_unix_nano(stored.span.start_unix_nano, stored.clock), stored.span.span_id};
}

std::vector<std::string> span_lines(std::vector<StoredSpan> spans) {
  std::vector<std::string> lines;
  if (!std::ranges::is_sorted(spans, {}, place)) lines.push_back("not in order");
  std::ranges::sort(spans, {}, [](const StoredSpan& span) { return std::pair(place(span), stored_text(span)); });
  for (const StoredSpan& span : spans) lines.push_back(stored_text(span));
  return lines;
}

std::string condition_text(const Condition& condition) {
  return condition.key + std::string(compare_text(condition.compare)) +
         (condition.is_range() ? value_text(condition.bound) : condition.value);
}

}  // namespace

std::string histogram_text(const Histogram& histogram) {
  std::string out = "count=" + number(histogram.count()) + " max=" + number(histogram.max_nano());
  for (const auto& [bucket, count] : histogram.buckets()) out += " " + number(bucket) + "x" + number(count);
  return out + "\n";
}

std::string answer_text(const SlowPage& page) {
  std::string out = answer_text(page.rows);
  if (!page.next) return out + "last page\n";
  const SortKey& last = page.next->last;
  return out + "next: received=" + number(page.next->received_sequence) + " duration=" + number(last.duration_nano) +
         " start=" + number(last.start_unix_nano) + " trace=" + number(number_of(last.trace_id)) +
         " span=" + last.span_id.hex() + "\n";
}

std::string answer_text(const std::vector<SlowRow>& rows) {
  std::string out;
  for (const SlowRow& row : rows) out += row_text(row);
  return out;
}

std::string answer_text(const StoredTrace& trace) {
  std::string out = "trace=" + trace.trace_id.hex() + " start=" + number(trace.start_unix_nano) +
                    " duration=" + number(trace.duration_nano) + (trace.complete ? " complete\n" : " incomplete\n");
  if (trace.oversized) return out + "oversized\n";
  for (const std::string& line : span_lines(trace.spans)) out += line + "\n";
  return out;
}

std::string answer_text(const std::vector<OperationStats>& operations) {
  std::string out;
  for (const OperationStats& stats : operations) {
    out += stats.key.service_namespace + "/" + stats.key.service + "/" + stats.key.operation + "/" +
           std::string(span_kind_name(stats.key.kind)) + " spans=" + number(stats.spans) +
           " errors=" + number(stats.errors) + " " + histogram_text(stats.durations);
  }
  return out;
}

std::string answer_text(const std::vector<LatencyPoint>& points) {
  std::string out;
  for (const LatencyPoint& point : points) {
    out += "start=" + number(point.start_unix_nano) + " errors=" + number(point.errors) + " " +
           histogram_text(point.durations);
  }
  return out;
}

std::string answer_text(const std::vector<std::string>& keys) {
  std::string out;
  for (const std::string& key : keys) out += key + "\n";
  return out;
}

std::string answer_text(const std::vector<ValueCount>& values) {
  std::vector<std::string> texts;
  for (const ValueCount& one : values) texts.push_back(one.value);
  std::ranges::sort(texts);
  bool ordered = std::ranges::is_sorted(values, std::greater(), &ValueCount::spans);
  return (ordered ? "" : "not in order\n") + answer_text(texts);
}

std::string error_text(const Error& error) {
  std::string text = "error: " + std::string(error_code_name(error.code));
  bool own_fault = error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kInternal;
  return own_fault ? text + ": " + error.message : text;
}

std::string filter_text(const Filter& filter, By by) {
  std::string out = by == By::kTrace ? "by trace" : by == By::kSpan ? "by span" : "by span of a trace";
  out += " from=" + number(filter.range.from_unix_nano) + " to=" + number(filter.range.to_unix_nano);
  if (filter.service) out += " service=" + *filter.service;
  if (filter.operation) out += " operation=" + *filter.operation;
  for (const Condition& condition : filter.where) out += " where " + condition_text(condition);
  if (filter.errors) out += " errors";
  if (filter.traces) out += " traces";
  for (const TraceId& id : filter.traces.value_or(std::vector<TraceId>())) out += " " + number(number_of(id));
  out += " min=" + number(filter.min_duration_nano);
  return out + " max=" + number(filter.max_duration_nano);
}

}  // namespace fathom::store::testing
