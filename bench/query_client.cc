#include "bench/query_client.h"

#include <boost/json.hpp>
#include <map>

#include "base/time.h"

namespace fathom::bench {

namespace json = boost::json;

namespace {

Result<json::object> parse_object(const std::string& body) {
  boost::system::error_code error;
  json::value value = json::parse(body, error);
  if (error || !value.is_object()) return corrupt("not a JSON object: " + body.substr(0, 300));
  return std::move(value.as_object());
}

// A member as text: strings bare, the rest as JSON.
std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return "(missing)";
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

constexpr std::string_view kRowKeys[] = {"trace_id",      "span_id",  "service",
                                         "operation",     "error",    "start_time_unix_nano",
                                         "duration_nano", "complete", "root_duration_nano",
                                         "spans"};

std::string row_line(const json::object& row) {
  std::string line;
  for (std::string_view key : kRowKeys) line += text_of(row, key) + " ";
  return line;
}

std::string span_line(const json::object& span) {
  std::string line;
  for (std::string_view key : {"span_id", "service", "operation", "start_time_unix_nano", "duration_nano"})
    line += text_of(span, key) + " ";
  return line;
}

const json::array* array_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value ? value->if_array() : nullptr;
}

std::string expected_span_line(const Workload&, const TraceFacts& facts, uint32_t position, const SpanTimes& times) {
  return facts.span_id(position).hex() + " " + std::string(service_name(position_facts(position).service)) + " " +
         operation_name(facts.route, position) + " " + std::to_string(times.start_unix_nano) + " " +
         std::to_string(times.duration_nano()) + " ";
}

// The spans that the workload says a trace has, by span id.
std::map<std::string, std::string> expected_spans(const Workload& workload, const TraceFacts& facts) {
  std::map<std::string, std::string> lines;
  auto times = workload.times(facts);
  for (uint32_t position = 0; position < kPositions; ++position) {
    if (times[position].start_unix_nano == 0) continue;
    lines[facts.span_id(position).hex()] = expected_span_line(workload, facts, position, times[position]);
  }
  return lines;
}

Result<> expect_span(const json::object& span, const TraceFacts& facts,
                     const std::map<std::string, std::string>& expected) {
  auto found = expected.find(text_of(span, "span_id"));
  if (found == expected.end()) return corrupt("a span that was not sent: " + span_line(span));
  if (found->second != span_line(span))
    return corrupt("a span that differs:\n  expected " + found->second + "\n  got      " + span_line(span));
  const json::value* attributes = span.if_contains("attributes");
  if (attributes == nullptr || !attributes->is_object()) return corrupt("a span without attributes");
  const json::object& object = attributes->get_object();
  if (object.size() != kAttributesPerSpan || text_of(object, "session.id") != session_of(facts))
    return corrupt("other attributes than were sent: " + json::serialize(*attributes));
  return {};
}

}  // namespace

std::string slowest_target(const Question& question, size_t limit, const std::string& cursor, uint32_t position) {
  std::string target = "/api/v1/slowest?by=trace&from=" + std::to_string(question.from_unix_nano) +
                       "&to=" + std::to_string(question.to_unix_nano) + "&limit=" + std::to_string(limit);
  if (question.canary) target += "&where=tenant.tier%3Dcanary";
  if (question.route) {
    target += "&service=" + net::percent_encode(service_name(position_facts(position).service)) +
              "&operation=" + net::percent_encode(operation_name(*question.route, position));
  }
  if (!cursor.empty()) target += "&cursor=" + net::percent_encode(cursor);
  return target;
}

std::string row_line(const ExpectedTrace& trace) {
  TraceFacts facts = trace.facts();
  const Workload& workload = trace.table->workload();
  uint32_t root = workload.root_position(facts);
  bool error =
      facts.outcome == Outcome::kFailed && (workload.shape() == Shape::kShop || facts.status_code(root) >= 500);
  std::string duration = std::to_string(trace.duration_nano);
  return facts.trace_id().hex() + " " + facts.span_id(root).hex() + " " +
         std::string(service_name(position_facts(root).service)) + " " + operation_name(facts.route, root) + " " +
         (error ? "true " : "false ") + std::to_string(trace.start_unix_nano) + " " + duration + " true " + duration +
         " " + std::to_string(workload.spans_per_trace()) + " ";
}

Result<SlowestPage> parse_slowest(const std::string& body) {
  auto object = parse_object(body);
  if (!object) return object.error();
  const json::array* rows = array_in(*object, "rows");
  if (rows == nullptr) return corrupt("no rows: " + body.substr(0, 300));
  SlowestPage page;
  for (const json::value& row : *rows) {
    if (!row.is_object()) return corrupt("a row that is no object");
    page.rows.push_back(row_line(row.get_object()));
  }
  const json::value* cursor = object->if_contains("next_cursor");
  if (cursor != nullptr && cursor->is_string()) page.next_cursor = std::string(cursor->get_string());
  return page;
}

Result<> expect_rows(const SlowestPage& page, const std::vector<ExpectedTrace>& expected, size_t first, size_t limit) {
  size_t there = expected.size() > first ? std::min(limit, expected.size() - first) : 0;
  if (page.rows.size() != there)
    return corrupt("expected " + std::to_string(there) + " rows, got " + std::to_string(page.rows.size()));
  for (size_t i = 0; i < there; ++i) {
    std::string line = row_line(expected[first + i]);
    if (page.rows[i] != line)
      return corrupt("row " + std::to_string(first + i) + ":\n  expected " + line + "\n  got      " + page.rows[i]);
  }
  return {};
}

Result<> expect_trace(const std::string& body, const Workload& workload, uint64_t index) {
  auto object = parse_object(body);
  if (!object) return object.error();
  TraceFacts facts = workload.facts(index);
  auto expected = expected_spans(workload, facts);
  const json::array* spans = array_in(*object, "spans");
  if (spans == nullptr || spans->size() != expected.size() || text_of(*object, "trace_id") != facts.trace_id().hex() ||
      text_of(*object, "complete") != "true")
    return corrupt("another trace than was sent: " + body.substr(0, 300));
  for (const json::value& span : *spans) {
    if (!span.is_object()) return corrupt("a span that is no object");
    if (Result<> fine = expect_span(span.get_object(), facts, expected); !fine) return fine;
    expected.erase(text_of(span.get_object(), "span_id"));
  }
  return {};
}

Result<TimedReply> QueryClient::get(const std::string& target) {
  uint64_t begin = now_monotonic_nano();
  Result<net::HttpReply> reply = client_.get(target);
  uint64_t nano = now_monotonic_nano() - begin;
  if (!reply) return reply.error();
  return TimedReply{reply->status, std::move(reply->body), nano};
}

Result<std::string> QueryClient::timed(const std::string& target, Latencies& latencies) {
  auto reply = get(target);
  if (!reply) return reply.error();
  if (reply->status != 200)
    return unavailable("HTTP " + std::to_string(reply->status) + " for " + target + ": " + reply->body.substr(0, 300));
  latencies.record(reply->nano);
  return std::move(reply->body);
}

}  // namespace fathom::bench
