// bench-spans: what a span costs the program that makes it and the agent that carries it home, how soon it is found,
// and what a crash loses. See bench/README.md.
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <boost/json.hpp>

#include "bench/ingest_sink.h"
#include "bench/options.h"
#include "bench/relay_steps.h"
#include "bench/report.h"
#include "bench/span_cost.h"
#include "bench/span_steps.h"

namespace fathom::bench {
namespace {

Options make_options() {
  return {"bench-spans",
          {{"--steps", "all", "of cost,agent,relay,memory,found,crash, separated by commas"},
           {"--rate", "500000", "spans/s of step agent, over two programs"},
           {"--agent-seconds", "20", "of step agent"},
           {"--relay-rate", "1200000", "spans/s of step relay: more than the server takes"},
           {"--relay-seconds", "10", "of each half of step relay"},
           {"--found", "200", "spans of step found"},
           {"--crashes", "200", "programs of step crash"},
           {"--seed", "1", "of the moments of crashes"},
           {"--server", beside_this_program("fathom-server"), "the server"},
           {"--work-directory", "/tmp", "where data directories and sockets are made and removed"},
           {"--json", "", "a file for the figures"}}};
}

class SpansBench {
 public:
  SpansBench(const Options& options, Report& report) : options_(options), report_(report) {
    server_ = {options.text("--server"), options.text("--work-directory")};
  }

  Result<> run() {
    for (auto step : {&SpansBench::cost, &SpansBench::agent, &SpansBench::relay, &SpansBench::memory,
                      &SpansBench::found, &SpansBench::crash}) {
      if (Result<> fine = (this->*step)(); !fine) return fine;
    }
    return {};
  }

 private:
  bool selected(std::string_view step) const { return options_.selects("--steps", step); }
  const std::string& work() const { return server_.work_directory; }

  // In a process of its own, which must not know of an agent.
  Result<> cost() {
    if (!selected("cost")) return {};
    ChildProcess child;
    auto line = child.start(
        {{beside_this_program("bench-spans"), "cost"}, {{"FATHOM_AGENT_SOCKET", ""}}, work() + "/bench-spans.log"});
    if (!line) return line.error();
    boost::system::error_code fault;
    const boost::json::value said = boost::json::parse(*line, fault);
    if (fault) return corrupt("no figures: " + *line);
    auto figure = [&](const char* key) { return said.at(key).to_number<double>(); };
    if (figure("lost") > 0) return internal("spans were lost, so it is not spans that were measured");
    report_.add("floor.two_ticks_ns", figure("two_ticks_ns"), "the processor's counter, read twice");
    report_.add("floor.copy_160_bytes_ns", figure("copy_ns"), "into 8 MiB that go round");
    report_.add("span.start_end_2attr_ns", figure("start_end_2attr_ns"), "an integer, a text of 16 bytes");
    if (figure("two_threads_over_one") > 0) {
      report_.add("floor.two_threads_over_one", figure("bare_two_threads_over_one"),
                  "of work with nothing in common: how far the processors are two");
      report_.add("span.two_threads_over_one", figure("two_threads_over_one"),
                  "each of two threads, on processors of their own");
    }
    return over_otel(figure("start_end_2attr_ns"));
  }

  // In the same run, for what the machine does meanwhile falls on both.
  Result<> over_otel(double ours_ns) {
    const std::string program = beside_this_program("rival-otel-cpp");
    if (!std::filesystem::exists(program)) {
      report_.note(
          "span.over_otel_cpp is left out: OpenTelemetry's C++ SDK was not found when this was built; "
          "bench/README.md says how to give it one");
      return {};
    }
    ChildProcess child;
    auto line = child.start({{program}, {}, work() + "/bench-spans.log"});
    if (!line) return line.error();
    boost::system::error_code fault;
    const boost::json::value said = boost::json::parse(*line, fault);
    if (fault) return corrupt("no figures: " + *line);
    if (said.at("lost").to_number<uint64_t>() > 0) return internal("the rival lost spans");
    const double theirs_ns = said.at("start_end_2attr_ns").to_number<double>();
    report_.add("rival.otel_cpp_start_end_2attr_ns", theirs_ns,
                "OpenTelemetry C++ " + std::string(said.at("version").as_string()) + ", batch processor");
    report_.add("span.over_otel_cpp", ours_ns / theirs_ns, "the one over the other");
    return {};
  }

  Result<> agent() {
    if (!selected("agent")) return {};
    ChildProcess sink;
    auto line = sink.start({{beside_this_program("bench-spans"), "sink"}, {}, work() + "/bench-spans.log"});
    if (!line) return line.error();
    auto collector = address_in(*line, "ingest");
    if (!collector) return collector.error();
    const double seconds = options_.real("--agent-seconds");
    auto cost = measure_agent(work(), *collector, 2, options_.number("--rate") / 2, seconds);
    if (!cost) return cost.error();
    report_.add("agent.spans_per_s_per_core", cost->spans_per_s_per_core(),
                std::to_string(cost->acknowledged) + " spans to a collector that keeps nothing");
    report_.add("agent.spans_per_s", static_cast<double>(cost->acknowledged) / cost->wall_seconds,
                "by the wall, programs and collector on the same machine");
    report_.add("agent.lost_spans", static_cast<double>(cost->lost), "of these programs, for lack of memory");
    return with_server(seconds);
  }

  Result<> with_server(double seconds) {
    constexpr uint64_t kRate = 60'000;  // which the server can follow on what the others leave
    auto server = Server::start(server_);
    if (!server) return server.error();
    auto cost = measure_agent(work(), (*server)->ingest(), 2, kRate / 2, seconds);
    if (!cost) return cost.error();
    report_.add("agent.with_server_spans_per_s_per_core", cost->spans_per_s_per_core(),
                "the same into a fathom-server, 60,000 spans/s");
    auto settled = (*server)->settle_and_stop();
    if (!settled) return settled.error();
    report_.add("agent.stored_bytes_per_span",
                static_cast<double>(settled->disk.bytes) / static_cast<double>(cost->acknowledged),
                std::to_string(cost->acknowledged) + " spans of two threads, everything in the data directory");
    return {};
  }

  Result<> relay() {
    if (!selected("relay")) return {};
    auto relay = measure_relay(server_, options_.number("--relay-rate"), options_.real("--relay-seconds"));
    if (!relay) return relay.error();
    const RelayCost &plain = relay->plain, &tls = relay->tls;
    report_.add("relay.plain_spans_per_s", plain.spans_per_s,
                "from programs through an agent into a server, by the wall");
    report_.add("relay.tls_spans_per_s", tls.spans_per_s, "the same with TLS between agent and server");
    report_.add("relay.tls_over_plain", tls.spans_per_s / plain.spans_per_s, "the one over the other");
    report_.add("relay.plain_cpu_us_per_span", plain.cpu_us_per_span, "of agent and server");
    report_.add("relay.tls_cpu_us_per_span", tls.cpu_us_per_span, "of agent and server");
    report_.add("relay.tls_cpu_over_plain", tls.cpu_us_per_span / plain.cpu_us_per_span,
                "the one over the other, which a loaded machine leaves alone");
    return {};
  }

  Result<> memory() {
    if (!selected("memory")) return {};
    auto server = Server::start(server_);
    if (!server) return server.error();
    const Crowd crowd;
    auto rss = measure_agent_memory(work(), (*server)->ingest(), crowd);
    if (!rss) return rss.error();
    report_.add("agent.rss_max_mib", *rss, "100 programs of 10 threads, 50,000 spans/s, 20 s");
    return {};
  }

  Result<> found() {
    if (!selected("found")) return {};
    auto found = measure_span_to_found(server_, options_.number("--found"));
    if (!found) return found.error();
    report_.add("e2e.span_to_found_ms_p99", found->p99_ms(), std::to_string(found->count()) + " spans, one at a time");
    report_.add("e2e.span_to_found_ms_p50", found->p50_ms(), "");
    report_.add("e2e.span_to_found_ms_max", found->max_ms(), "");
    return {};
  }

  Result<> crash() {
    if (!selected("crash")) return {};
    auto outcome =
        measure_crashes(server_, options_.number("--seed"), static_cast<uint32_t>(options_.number("--crashes")));
    if (!outcome) return outcome.error();
    report_.add("crash.spans_lost", static_cast<double>(outcome->missing),
                options_.text("--crashes") + " programs, " + std::to_string(outcome->finished) + " spans finished");
    report_.add("crash.spans_counted_as_lost", static_cast<double>(outcome->counted),
                "by the programs themselves: they found their memory full");
    return {};
  }

  const Options& options_;
  Report& report_;
  ServerOptions server_;
};

int run(int argc, char** argv) {
  Options options = make_options();
  if (const auto status = options.parse_or_exit(argc, argv)) return *status;
  Report report("spans", describe_machine(options.text("--work-directory")).line(), options.command());
  Result<> done = SpansBench(options, report).run();
  return report.finish(done, options.text("--json"));
}

}  // namespace
}  // namespace fathom::bench

int main(int argc, char** argv) {
  // What needs a process of its own is this program again: "bench-spans cost|sink --ready-fd N".
  if (argc == 4 && std::strcmp(argv[1], "cost") == 0) return fathom::bench::run_span_cost(std::atoi(argv[3]));
  if (argc == 4 && std::strcmp(argv[1], "sink") == 0) return fathom::bench::run_ingest_sink(std::atoi(argv[3]));
  return fathom::bench::run(argc, argv);
}
