#include "bench/span_steps.h"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "base/time.h"
#include "bench/progress.h"
#include "bench/query_client.h"

namespace fathom::bench {

namespace {

namespace json = boost::json;
using Writers = std::vector<std::unique_ptr<SpanWriter>>;

constexpr uint64_t kPatienceNano = 120 * kNanosPerSecond;
constexpr auto kLook = std::chrono::microseconds(50);
constexpr uint64_t kProbeRate = 9;  // of spans a second: their moments wander through the agent's rounds
constexpr double kLongestLifeMs = 30;

template <typename Condition>
Result<> wait_for(const Condition& holds, const std::string& what) {
  const uint64_t deadline = now_monotonic_nano() + kPatienceNano;
  while (!holds()) {
    if (now_monotonic_nano() > deadline) return Error{ErrorCode::kDeadline, "waited in vain: " + what};
    std::this_thread::sleep_for(kLook);
  }
  return {};
}

Result<Writers> start_writers(const TracedNode& node, uint32_t count, WriterOptions options) {
  Writers writers;
  for (options.program = 0; options.program < count; ++options.program) {
    auto writer = SpanWriter::start(node, options);
    if (!writer) return writer.error();
    writers.push_back(*std::move(writer));
  }
  return writers;
}

Result<> wait_for_all(Writers& writers) {
  for (auto& writer : writers) {
    if (writer->wait() != 0) return internal("a program did not get rid of its spans");
  }
  return {};
}

// The numbers of a trace's spans.
Result<std::vector<uint64_t>> numbers_in(QueryClient& client, const std::string& trace) {
  auto reply = client.get("/api/v1/traces/" + trace);
  if (!reply) return reply.error();
  std::vector<uint64_t> numbers;
  if (reply->status == 404) return numbers;
  boost::system::error_code fault;
  json::value answer = json::parse(reply->body, fault);
  if (reply->status != 200 || fault) return corrupt("no trace: " + reply->body.substr(0, 300));
  for (const json::value& span : answer.at("spans").as_array()) {
    numbers.push_back(span.at("attributes").at("number").to_number<uint64_t>());
  }
  return numbers;
}

Result<bool> is_found(QueryClient& client, uint32_t program, uint64_t number) {
  auto numbers = numbers_in(client, trace_of(program, 0, number));
  if (!numbers) return numbers.error();
  return std::find(numbers->begin(), numbers->end(), number) != numbers->end();
}

Result<uint64_t> count_found(QueryClient& client, const SpanWriter& writer) {
  uint64_t found = 0;
  for (uint64_t n = 0; n < writer.finished(); n += kSpansPerTrace) {
    auto numbers = numbers_in(client, trace_of(writer.options().program, 0, n));
    if (!numbers) return numbers.error();
    std::set<uint64_t> different(numbers->begin(), numbers->end());
    found += static_cast<uint64_t>(std::distance(different.begin(), different.lower_bound(writer.finished())));
  }
  return found;
}

// What is not found yet may be on its way; so it is asked for until it is there, or patience ends.
Result<uint64_t> count_missing(QueryClient& client, const SpanWriter& writer) {
  const uint64_t deadline = now_monotonic_nano() + kPatienceNano;
  const uint64_t wanted = writer.finished() - std::min(writer.finished(), writer.lost());
  for (;;) {
    auto found = count_found(client, writer);
    if (!found) return found.error();
    if (*found >= wanted) return 0;
    if (now_monotonic_nano() > deadline) return wanted - *found;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace

Result<AgentCost> measure_agent(const std::string& work_directory, const std::string& collector, uint32_t programs,
                                uint64_t rate, double seconds, const std::vector<std::string>& agent_arguments) {
  auto node = TracedNode::start(work_directory, collector, agent_arguments);
  if (!node) return node.error();
  const double cpu_before = (*node)->agent().cpu_seconds();
  const uint64_t begin = now_monotonic_nano();
  const auto spans = static_cast<uint64_t>(static_cast<double>(rate) * seconds);
  auto writers = start_writers(**node, programs, {.rate = rate, .spans = spans});
  if (!writers) return writers.error();
  if (Result<> fine = wait_for_all(*writers); !fine) return fine.error();
  AgentCost cost{.cpu_seconds = (*node)->agent().cpu_seconds() - cpu_before,
                 .wall_seconds = static_cast<double>(now_monotonic_nano() - begin) / 1e9};
  for (const auto& writer : *writers) {
    cost.lost += writer->lost();
    cost.acknowledged += writer->finished_by_all() - writer->lost();
  }
  return cost;
}

Result<double> measure_agent_memory(const std::string& work_directory, const std::string& collector,
                                    const Crowd& crowd) {
  auto node = TracedNode::start(work_directory, collector);
  if (!node) return node.error();
  const auto spans = static_cast<uint64_t>(static_cast<double>(crowd.rate) * crowd.seconds);
  auto writers = start_writers(**node, crowd.programs, {.threads = crowd.threads, .rate = crowd.rate, .spans = spans});
  if (!writers) return writers.error();
  if (Result<> fine = wait_for_all(*writers); !fine) return fine.error();
  auto usage = (*node)->agent().stop();
  if (!usage) return usage.error();
  if (usage->exit_status != 0) return internal("the agent ended with status " + std::to_string(usage->exit_status));
  return usage->rss_max_mib;
}

Result<Latencies> measure_span_to_found(const ServerOptions& options, uint64_t count) {
  auto server = Server::start(options);
  if (!server) return server.error();
  auto node = TracedNode::start(options.work_directory, (*server)->ingest());
  if (!node) return node.error();
  auto writer = SpanWriter::start(**node, {.rate = kProbeRate});
  if (!writer) return writer.error();
  QueryClient client((*server)->http());
  Latencies found;
  Progress progress("spans found", count);
  for (uint64_t n = 0; found.count() < count; n = (*writer)->finished()) {
    Result<> ended = wait_for([&] { return (*writer)->finished() > n; }, "a span");
    if (!ended) return ended.error();
    const uint64_t end = now_monotonic_nano();
    for (bool is_there = false; !is_there;) {
      auto answer = is_found(client, 0, n);
      if (!answer) return answer.error();
      is_there = *answer;
      if (now_monotonic_nano() - end > kPatienceNano) return Error{ErrorCode::kDeadline, "a span was never found"};
    }
    found.record(now_monotonic_nano() - end);
    progress.at(found.count());
  }
  return found;
}

Result<CrashOutcome> measure_crashes(const ServerOptions& options, uint64_t seed, uint32_t programs) {
  auto server = Server::start(options);
  if (!server) return server.error();
  auto node = TracedNode::start(options.work_directory, (*server)->ingest());
  if (!node) return node.error();
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> life_ms(0, kLongestLifeMs);
  Writers writers;
  Progress progress("programs killed", programs);
  for (uint32_t program = 0; program < programs; ++program) {
    auto writer = SpanWriter::start(**node, {.program = program, .pool_mib = 1});
    if (!writer) return writer.error();
    if (Result<> ready = wait_for([&] { return (*writer)->ready(); }, "a program's first span"); !ready)
      return ready.error();
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(life_ms(random)));
    (*writer)->kill();
    writers.push_back(*std::move(writer));
    progress.at(program + 1);
  }
  QueryClient client((*server)->http());
  CrashOutcome outcome;
  for (const auto& writer : writers) {
    auto missing = count_missing(client, *writer);
    if (!missing) return missing.error();
    outcome.finished += writer->finished();
    outcome.counted += std::min(writer->finished(), writer->lost());
    outcome.missing += *missing;
  }
  return outcome;
}

}  // namespace fathom::bench
