#include "bench/tracers/capture_rounds.h"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cinttypes>
#include <thread>

#include "base/time.h"
#include "capture/decode.h"

namespace fathom::bench::tracers {

namespace {

namespace json = boost::json;

constexpr uint64_t kPatienceNano = 30 * kNanosPerSecond;
constexpr auto kLook = std::chrono::milliseconds(2);
// Each look takes processor time from the agent and the server. A capture that is durable sooner counts as this late.
constexpr auto kUntilFirstLook = std::chrono::milliseconds(40);
// The agent makes two captures a second for such reasons, and says of the others that it skipped them.
constexpr uint64_t kPaceNano = 600'000'000;
constexpr uint64_t kHoldMs = 80;
// It writes one every 100 us, unless others have the processor.
constexpr uint64_t kRecentNano = 10'000'000;
constexpr uint64_t kRecordBytes = 32;
// So that of the bursts before there is nothing in the window but what is in a few chunks.
constexpr const char* kCapturePoolMib = "9";

ServerOptions with_threshold(ServerOptions options) {
  options.arguments.insert(options.arguments.end(),
                           {"--capture-threshold", std::to_string(CaptureRounds::kThresholdMs) + "ms"});
  return options;
}

uint64_t events_in(const capture::Capture& capture) {
  uint64_t events = 0;
  for (const capture::Thread& thread : capture.threads) events += thread.events.size();
  return events;
}

// Of those of a span that began then; 0: none.
uint64_t last_event_nano(const capture::Capture& capture, uint64_t start_nano) {
  uint64_t last_nano = 0;
  for (const capture::Thread& thread : capture.threads) {
    if (!thread.events.empty()) last_nano = std::max(last_nano, thread.events.back().monotonic_nano);
  }
  return last_nano < start_nano ? 0 : last_nano;
}

// The id of the first capture with this trigger; empty: none yet.
Result<std::string> find_capture(const std::string& body, std::string_view trigger) {
  boost::system::error_code fault;
  const json::value answer = json::parse(body, fault);
  if (fault || !answer.is_object()) return corrupt("no list of captures: " + body.substr(0, 300));
  for (const json::value& row : answer.at("captures").as_array()) {
    if (row.at("trigger").as_string() == trigger) return std::string(row.at("id").as_string());
  }
  return std::string();
}

}  // namespace

CaptureRounds::CaptureRounds(std::unique_ptr<Server> server, std::unique_ptr<TracedNode> node,
                             std::unique_ptr<Subprocess> program)
    : server_(std::move(server)),
      node_(std::move(node)),
      program_(std::move(program)),
      client_(std::make_unique<QueryClient>(server_->http())) {}

Result<CaptureRounds> CaptureRounds::start(const ServerOptions& options) {
  auto server = Server::start(with_threshold(options));
  if (!server) return server.error();
  auto node = TracedNode::start(options.work_directory, (*server)->ingest());
  if (!node) return node.error();
  auto program =
      Subprocess::start({{beside_this_program("capture_writer")},
                         {{"FATHOM_AGENT_SOCKET", (*node)->socket()}, {"FATHOM_DETAIL_MIB", kCapturePoolMib}},
                         (*node)->directory() + "/program.log"});
  if (!program) return program.error();
  return CaptureRounds(*std::move(server), *std::move(node), *std::move(program));
}

Result<CaptureRounds::Said> CaptureRounds::ask(const std::string& line) {
  auto answer = program_->ask(line);
  if (!answer) return answer.error();
  Said said;
  char trace[64];
  if (std::sscanf(answer->c_str(), "%63s %" SCNu64 " %" SCNu64, trace, &said.start_nano, &said.trigger_nano) != 3)
    return internal("capture_writer said: " + *answer);
  said.trace = trace;
  return said;
}

Result<std::string> CaptureRounds::await_capture(const std::string& trace, std::string_view trigger) {
  const uint64_t deadline = now_monotonic_nano() + kPatienceNano;
  while (now_monotonic_nano() < deadline) {
    auto reply = client_->get("/api/v1/captures?trace_id=" + trace);
    if (!reply) return reply.error();
    auto id = find_capture(reply->body, trigger);
    if (!id || !id->empty()) return id;
    std::this_thread::sleep_for(kLook);
  }
  return Error{ErrorCode::kDeadline, "no capture of trace " + trace};
}

Result<capture::Capture> CaptureRounds::fetch(const std::string& id) {
  auto reply = client_->get("/api/v1/captures/" + id + "/content");
  if (!reply) return reply.error();
  if (reply->status != 200) return corrupt("no content: " + reply->body.substr(0, 300));
  return capture::decode(reply->body);
}

void CaptureRounds::pause() {
  const uint64_t now = now_monotonic_nano();
  if (now < last_nano_ + kPaceNano) std::this_thread::sleep_for(std::chrono::nanoseconds(last_nano_ + kPaceNano - now));
  last_nano_ = now_monotonic_nano();
}

Result<uint64_t> CaptureRounds::burst_to_durable_nano() {
  pause();
  auto said = ask("bursts " + std::to_string(kBurstBytes));
  if (!said) return said.error();
  std::this_thread::sleep_for(kUntilFirstLook);
  auto id = await_capture(said->trace, "program");
  if (!id) return id.error();
  const uint64_t durable_nano = now_monotonic_nano();
  auto content = fetch(*id);
  if (!content) return content.error();
  if (events_in(*content) < kBurstBytes / kRecordBytes)
    return internal("a capture has " + std::to_string(events_in(*content)) + " of its events");
  return durable_nano - said->trigger_nano;
}

Result<uint64_t> CaptureRounds::overdue_to_copied_nano(uint64_t number) {
  pause();
  auto said = ask("hold bench.overdue." + std::to_string(number) + " " + std::to_string(kHoldMs));
  if (!said) return said.error();
  auto id = await_capture(said->trace, "overdue");
  if (!id) return id.error();
  auto content = fetch(*id);
  if (!content) return content.error();
  const uint64_t due_nano = said->start_nano + kThresholdMs * 1'000'000;
  if (content->trigger_nano < due_nano) return internal("a span was captured before it was overdue");
  if (content->trigger_nano > said->start_nano + kHoldMs * 1'000'000)
    return internal("an overdue span had ended by then");
  if (last_event_nano(*content, said->start_nano) + kRecentNano < content->trigger_nano)
    return internal("a capture of an overdue span lacks what the span did last");
  return content->trigger_nano - due_nano;
}

}  // namespace fathom::bench::tracers
