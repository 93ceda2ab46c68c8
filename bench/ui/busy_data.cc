#include "bench/ui/busy_data.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/time.h"
#include "bench/exporters.h"
#include "bench/load_client.h"
#include "bench/progress.h"
#include "bench/tracers/subprocess.h"

namespace fathom::bench {

namespace {

constexpr uint64_t kSeed = 1;
constexpr uint32_t kReplicas = 5;
constexpr uint64_t kNextVersionAtPercent = 60;
constexpr double kIdleSeconds = 300;
constexpr int kLargeTraceSeconds = 120;

std::string directory_of(const BusyOptions& options) {
  const uint64_t minutes = options.length_nano / kNanosPerMinute;
  return options.cache_directory + "/busy-v1-" + std::to_string(options.spans) + "-" + std::to_string(minutes) + "min";
}

// It is written last: what has no facts is not whole.
std::string facts_path(const std::string& directory) {
  return directory + "/facts.json";
}

Result<BusyFacts> read_facts(const std::string& directory) {
  std::ifstream file(facts_path(directory));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return busy_facts(text);
}

ServerOptions on(const std::string& directory, ServerOptions server) {
  server.data_directory = directory + "/data";
  server.arguments.insert(server.arguments.end(), {"--retention-age", "0s"});  // kept, however long ago it was made
  return server;
}

Result<> store_spans(const BusyOptions& options, const BusyFacts& facts, const Server& server) {
  const uint64_t traces = std::max<uint64_t>(options.spans / kPositions, 1);
  const Workload workload(Shape::kShop, kSeed, {facts.from_unix_nano, options.length_nano / traces});
  Exporters exporters(workload, 0, traces, {kReplicas, traces * kNextVersionAtPercent / 100});
  LoadClient client({server.otlp_grpc(), 2, 32});
  Progress progress("spans stored", traces * kPositions);
  send_closed_loop(exporters, client, [&](uint64_t sent) { progress.at(sent); });
  if (client.counts().spans_acked != traces * kPositions)
    return internal("spans were not taken: " + client.counts().first_failure);
  return {};
}

Result<std::string> store_large_trace(const BusyOptions& options, const Server& server) {
  tracers::Command command{options.send_large_trace, {}};
  std::replace(command.words.begin(), command.words.end(), std::string("{}"), "http://" + server.otlp_http());
  Result<tracers::Ended> ended = tracers::run_to_end(command, kLargeTraceSeconds);
  if (!ended) return ended.error();
  if (!ended->fine()) return unavailable("the large trace was not sent: " + ended->output);
  return ended->output.substr(0, ended->output.find('\n'));
}

Result<> fill(const BusyOptions& options, BusyFacts& facts, Server& server) {
  if (Result<> stored = store_spans(options, facts, server); !stored) return stored;
  Result<std::string> large = store_large_trace(options, server);
  if (!large) return large.error();
  facts.large_trace = *large;
  (void)server.process().wait_until_idle(0.05, kIdleSeconds);
  Result<Server::Settled> settled = server.settle_and_stop();
  return settled ? Result<>() : settled.error();
}

Result<BusyFacts> make(const BusyOptions& options, const std::string& directory) {
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  std::filesystem::create_directories(directory, error);
  if (error) return unavailable("cannot make " + directory + ": " + error.message());
  auto server = Server::start(on(directory, options.server));
  if (!server) return server.error();
  BusyFacts facts;
  facts.to_unix_nano = now_unix_nano();
  facts.from_unix_nano = facts.to_unix_nano - options.length_nano;
  if (Result<> filled = fill(options, facts, **server); !filled) return filled.error();
  std::ofstream file(facts_path(directory));
  file << to_json(facts) << "\n";
  file.close();
  if (!file) return unavailable("cannot write " + facts_path(directory));
  return facts;
}

}  // namespace

std::string to_json(const BusyFacts& facts) {
  return boost::json::serialize(boost::json::object{{"from_unix_nano", facts.from_unix_nano},
                                                    {"to_unix_nano", facts.to_unix_nano},
                                                    {"large_trace", facts.large_trace}});
}

Result<BusyFacts> busy_facts(const std::string& json) {
  boost::system::error_code error;
  const boost::json::value parsed = boost::json::parse(json, error);
  const boost::json::object* object = error ? nullptr : parsed.if_object();
  if (object == nullptr) return corrupt("no facts: " + json);
  const auto *from = object->if_contains("from_unix_nano"), *to = object->if_contains("to_unix_nano");
  const auto* large = object->if_contains("large_trace");
  if (from == nullptr || to == nullptr || large == nullptr || !from->is_number() || !to->is_number() ||
      !large->is_string())
    return corrupt("facts lack something: " + json);
  return BusyFacts{from->to_number<uint64_t>(), to->to_number<uint64_t>(), std::string(large->get_string())};
}

Result<BusyServer> start_busy_server(const BusyOptions& options) {
  const std::string directory = directory_of(options);
  if (Result<BusyFacts> kept = read_facts(directory)) {
    auto server = Server::start(on(directory, options.server));
    if (server) return BusyServer{std::move(*server), *kept, false};
  }
  Result<BusyFacts> facts = make(options, directory);
  if (!facts) return facts.error();
  auto server = Server::start(on(directory, options.server));
  if (!server) return server.error();
  return BusyServer{std::move(*server), *facts, true};
}

std::string default_cache_directory() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return std::string(cache) + "/fathom-bench";
  const char* home = std::getenv("HOME");
  return (home != nullptr ? std::string(home) + "/.cache" : std::string("/tmp")) + "/fathom-bench";
}

}  // namespace fathom::bench
