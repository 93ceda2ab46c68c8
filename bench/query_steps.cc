#include "bench/query_steps.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/time.h"
#include "bench/progress.h"

namespace fathom::bench {

namespace {

constexpr uint64_t kHour = kNanosPerHour;
constexpr uint64_t kDay = 24 * kNanosPerHour;
constexpr uint64_t kFoundWithinNano = 10 * kNanosPerSecond;
constexpr uint64_t kProbeDurationNano = 1'000'000;  // short, so that no probe is among the slowest

// The error again, with the request that it was about.
Error about(const Error& error, const std::string& target) {
  return {error.code, "GET " + target + "\n" + error.message};
}

}  // namespace

QueryPlan::QueryPlan(const TraceTable& table, uint64_t seed, size_t rounds) : table_(table), brute_force_({&table}) {
  Progress progress("brute force, rounds", rounds);
  for (size_t round = 0; round < rounds; ++round) {
    progress.at(round);
    plan_round(Draws(seed, round));
  }
}

void QueryPlan::plan_round(const Draws& draws) {
  Question hour = range(draws(0), kHour);
  // Every other question about an hour asks for one operation of one service.
  bool filtered = draws(1) % 2 == 1;
  if (filtered) hour.route = static_cast<uint32_t>(draws(2) % kRoutes);
  hours_.push_back(ask(hour, kPageRows));
  if (table_.workload().shape() == Shape::kShop) hours_.back().position = static_cast<uint32_t>(draws(3) % kPositions);
  days_.push_back(ask(range(draws(4), kDay), kPageRows));
  Question where = range(draws(5), kHour);
  where.canary = true;
  wheres_.push_back(ask(where, kPageRows));
  pages_.push_back(ask(range(draws(6), kHour), kFiftiethPageFirst + kPageRows));
  traces_.push_back(scaled(draws(7), table_.count()));
}

// A range of that length, to the nanosecond anywhere within what is stored (all of it, should it be shorter).
Question QueryPlan::range(uint64_t draw, uint64_t length_nano) const {
  uint64_t first = table_.start_unix_nano(0);
  uint64_t whole = table_.start_unix_nano(table_.count() - 1) - first;
  uint64_t from = first + scaled(draw, whole > length_nano ? whole - length_nano : 1);
  return {from, from + length_nano};
}

QueryPlan::Asked QueryPlan::ask(Question question, size_t limit) const {
  return {question, brute_force_.slowest(question, limit)};
}

Probe::Probe(const std::string& otlp_grpc, uint64_t seed)
    : workload_(Shape::kSingle, seed, {now_unix_nano(), 1}), encoder_(workload_), client_({otlp_grpc}) {}

Result<> Probe::measure(uint64_t index, QueryClient& client, Latencies& found) {
  TraceFacts facts = workload_.facts(index);
  uint32_t position = workload_.root_position(facts);
  uint64_t end = now_unix_nano();
  char body[kSpanRoom];
  char* body_end = encoder_.append(body, facts, position, {end - kProbeDurationNano, end});
  std::string_view bytes(body, static_cast<size_t>(body_end - body));
  uint32_t service = position_facts(position).service;
  std::string head = encoder_.request_head(service, bytes.size());
  client_.send({head, bytes, service, 1, end}, now_monotonic_nano());
  client_.drain();
  uint64_t acknowledged = now_monotonic_nano();
  if (client_.counts().failed != 0) return internal("a probe failed: " + client_.counts().first_failure);
  std::string target = "/api/v1/traces/" + facts.trace_id().hex();
  while (now_monotonic_nano() - acknowledged < kFoundWithinNano) {
    auto reply = client.get(target);
    if (!reply) return about(reply.error(), target);
    if (reply->status == 200) return found.record(now_monotonic_nano() - acknowledged), Result<>();
  }
  return Error{ErrorCode::kDeadline, "acknowledged, but not found within ten seconds: " + target};
}

QueryRounds::QueryRounds(const QueryPlan& plan, const std::string& http, const std::string& otlp_grpc, uint64_t seed,
                         size_t walks)
    : plan_(plan), client_(http), probe_(otlp_grpc, seed), walks_(walks) {}

Result<> QueryRounds::run(uint64_t pace_nano) {
  Progress progress("query rounds", plan_.rounds());
  auto begin = std::chrono::steady_clock::now();
  for (size_t number = 0; number < plan_.rounds(); ++number) {
    progress.at(number);
    std::this_thread::sleep_until(begin + std::chrono::nanoseconds(pace_nano * number));
    if (Result<> fine = round(number); !fine) return fine;
  }
  return {};
}

Result<> QueryRounds::round(size_t number) {
  if (Result<> fine = slowest(plan_.hour(number), latencies_.hour); !fine) return fine;
  if (Result<> fine = slowest(plan_.day(number), latencies_.day); !fine) return fine;
  if (Result<> fine = slowest(plan_.where(number), latencies_.where); !fine) return fine;
  if (Result<> fine = page_50(plan_.page(number), number < walks_); !fine) return fine;
  if (Result<> fine = trace_by_id(plan_.trace(number)); !fine) return fine;
  return probe_.measure(number, client_, latencies_.found);
}

Result<> QueryRounds::slowest(const QueryPlan::Asked& asked, Latencies& latencies) {
  auto cursor = page(asked, 0, kPageRows, "", latencies);
  if (!cursor) return cursor.error();
  return {};
}

// One page, compared; the cursor to the next.
Result<std::string> QueryRounds::page(const QueryPlan::Asked& asked, size_t first, size_t limit,
                                      const std::string& cursor, Latencies& latencies) {
  std::string target = slowest_target(asked.question, limit, cursor, asked.position);
  auto body = client_.timed(target, latencies);
  if (!body) return body.error();
  auto parsed = parse_slowest(*body);
  if (!parsed) return about(parsed.error(), target);
  if (Result<> fine = expect_rows(*parsed, asked.expected, first, limit); !fine) return about(fine.error(), target);
  return parsed->next_cursor;
}

Result<> QueryRounds::page_50(const QueryPlan::Asked& asked, bool walk) {
  size_t step = walk ? kPageRows : kFiftiethPageFirst;
  std::string cursor;
  for (size_t first = 0; first < kFiftiethPageFirst; first += step) {
    auto next = page(asked, first, step, cursor, unmeasured_);
    if (!next) return next.error();
    if (next->empty()) return asked.expected.size() <= first + step ? Result<>() : Result<>(corrupt("pages end early"));
    cursor = *next;
  }
  auto last = page(asked, kFiftiethPageFirst, kPageRows, cursor, latencies_.page_50);
  if (!last) return last.error();
  return {};
}

Result<> QueryRounds::trace_by_id(uint64_t index) {
  const Workload& workload = plan_.table().workload();
  std::string target = "/api/v1/traces/" + workload.facts(index).trace_id().hex();
  auto body = client_.timed(target, latencies_.trace_by_id);
  if (!body) return body.error();
  Result<> fine = expect_trace(*body, workload, index);
  return fine ? fine : about(fine.error(), target);
}

Result<> verify_after(const std::string& http, const TraceTable& stored, const TraceTable& live, size_t questions) {
  BruteForce brute_force({&stored, &live});
  QueryClient client(http);
  Latencies unmeasured;
  uint64_t first = live.start_unix_nano(0);
  uint64_t length = live.start_unix_nano(live.count() - 1) - first + 1;
  for (size_t number = 0; number < questions; ++number) {
    Draws draws(~0ULL, number);
    // Even questions reach back an hour into what was stored before.
    uint64_t from = first + scaled(draws(0), length / 2) - (number % 2 == 0 ? kHour : 0);
    Question question{from, first + length / 2 + scaled(draws(1), length)};
    std::string target = slowest_target(question, kPageRows, "");
    auto body = client.timed(target, unmeasured);
    if (!body) return body.error();
    auto page = parse_slowest(*body);
    if (!page) return about(page.error(), target);
    Result<> fine = expect_rows(*page, brute_force.slowest(question, kPageRows), 0, kPageRows);
    if (!fine) return about(fine.error(), target);
  }
  return {};
}

}  // namespace fathom::bench
