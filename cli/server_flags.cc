#include "cli/server_flags.h"

#include "cli/agent_program_flags.h"
#include "cli/filter_flags.h"
#include "cli/query_token.h"
#include "cli/redact_flags.h"

namespace fathom::cli {

namespace {

constexpr const char* kDefaultIngest = "127.0.0.1:7072";

}  // namespace

std::vector<Flag> place_flags() {
  return {
      {"--data", "DIR", "where the spans are kept (default: $XDG_DATA_HOME/fathom or ~/.local/share/fathom)"},
      {"--http", "ADDR", "HOST:PORT of queries, /metrics, /healthz and /readyz; port 0: a free one", "127.0.0.1:7070"},
      {"--otlp-grpc", "ADDR", "HOST:PORT of OTLP over gRPC", "127.0.0.1:4317"},
      {"--otlp-http", "ADDR", "HOST:PORT of OTLP over HTTP, in protobuf or JSON", "127.0.0.1:4318"},
      {"--ingest", "ADDR", "HOST:PORT of agents' spans (default: 127.0.0.1:7072, a free port when --http has port 0)"}};
}

Result<std::string> ingest_address(const Args& args) {
  if (args.given("--ingest")) return args.address("--ingest");
  return std::string(args.get("--http").ends_with(":0") ? "127.0.0.1:0" : kDefaultIngest);
}

std::vector<Flag> agent_flags() {
  return join(
      {{{"--agent-socket", "PATH",
         "where the agent takes programs' memory (default: where they look: $FATHOM_AGENT_SOCKET, "
         "/run/fathom/agent.sock or $XDG_RUNTIME_DIR/fathom/agent.sock; else in the data directory)"},
        {"--spool-limit", "SIZE", "disk for spans while the server is away; further spans wait in the programs",
         "256MiB"},
        {"--kernel-events", "off|requested|scheduling|traced",
         "kernel events of traced programs: context switches, wake-ups and page faults (scheduling); system calls too "
         "(traced); everything, but only while a requested capture waits for its window (requested); none (off)",
         "scheduling"}},
       slow_request_flags(),
       {{"--capture-budget", "SIZE", "events in one capture, 1MiB to 64MiB", "16MiB"},
        {"--overdue-after", "D",
         "capture spans that take longer, while the usual duration of their operation is not learnt yet (default: "
         "capture none of these)"},
        {"--no-captures", "", "the agent makes no captures"},
        {"--pt", "",
         "let the agent record by Intel PT, and cut a snapshot at each trigger (`fathom doctor --pt`: can it, here?)"},
        pt_all_users_flag(),
        pt_private_images_flag(),
        {"--pt-buffer-mib", "N", "the last so many MiB of packets of each CPU, a power of two up to 1024", "16"},
        {"--pt-window", "D", "of a snapshot, before its trigger, 1ms to 5s", "50ms"},
        {"--pt-symbol", "FILE:FUNCTION", "cut one when a traced program reaches this function, too"},
        {"--pt-spool", "SIZE", "snapshots and their images on the agent's disk while the server is away", "1GiB"},
        {"--agent-http", "ADDR", "HOST:PORT of the agent's own /metrics and /healthz (default: off)"}}});
}

std::vector<Flag> server_flags() {
  return {query_token_flag(),
          {"--audit-log", "FILE",
           "who read, captured and switched what: a line of JSON for each request of queries and control; SIGHUP opens "
           "it anew (default: the log has control requests)"},
          {"--durability", "fsync|os",
           "what an acknowledgement promises: fsync survives a power cut, os only the end of the process", "fsync"},
          {"--retention-age", "D",
           "drop what was received longer ago, like 7d, whatever the wall clock is set to; 0s: keep it", "7d"},
          {"--retention-size", "SIZE",
           "drop the oldest beyond this size on disk, like 50GiB, at least 16MiB; 0: no limit", "50GiB"},
          {"--retention-captures", "SIZE",
           "drop the oldest captures beyond this size, apart from the spans', at least 80MiB; 0: no limit", "10GiB"},
          {"--retention-snapshots", "SIZE",
           "drop the oldest snapshots and their images beyond this size, at least 256MiB; 0: no limit", "10GiB"},
          {"--page", "DIR", "the files of the page in the browser (default: ../share/fathom/page beside us)"},
          {"--snapshot-worker", "PROGRAM", "what works out answers about snapshots (default: fathom-worker beside us)"},
          {"--snapshot-workers", "N", "of these at the same time", "2"},
          {"--unsafe-worker", "",
           "answer about snapshots also where this kernel or container does not allow the worker's confinement; a "
           "hostile snapshot can then read and change what this server can"},
          {"--source-dir", "FROM[=TO]",
           "show lines of source beside a snapshot's instructions, of files whose names begin with FROM, from below "
           "the directory TO of this host; FROM '.': names that are relative, '*/src': '/src' behind anything "
           "(default: none is shown)",
           "", true},
          {"--reserve-disk", "SIZE",
           "refuse spans (clients try again) while less than this, or a part of a smaller disk (an eighth; 16 MiB "
           "of less than 128 MiB; at most a quarter), is free; captures and snapshots while less than twice as much is",
           "256MiB"},
          {"--max-request-bytes", "SIZE", "the largest OTLP request, after decompression", "64MiB"},
          {"--ingest-memory", "SIZE",
           "for requests under way (8MiB at least); beyond it clients are asked to try again", "160MiB"},
          {"--cache", "SIZE", "memory for blocks that were read, for indexes, and for filters: so much each", "48MiB"},
          {"--attributes-per-span", "N", "more are dropped, and counted", "128"},
          {"--events-per-span", "N", "more are dropped, and counted", "1024"},
          {"--links-per-span", "N", "more are dropped, and counted", "1024"},
          {"--bytes-per-value", "SIZE", "longer attribute values are cut, and flagged", "16KiB"},
          {"--bytes-per-name", "SIZE", "longer names and keys are cut, and counted", "1KiB"},
          redact_flag(),
          redact_key_file_flag("data directory"),
          {"--operations-per-service", "N", "that have spans stored; the rest become the operation __other__", "1000"},
          {"--services", "N", "that have spans stored; the rest become the service __other__", "10000"},
          {"--catalogue-memory", "SIZE", "for names of operations and services; the rest become __other__", "64MiB"},
          {"--listed-attribute-keys", "N", "of a segment; the rest are kept and searched, but not listed", "8192"},
          {"--capture-threshold", "D",
           "how long a span may take before its trace is captured, for operations of which less than 100 spans are "
           "known (default: such are not captured for being slow)"},
          {"--capture-floor", "D", "the least that a learnt threshold can be", "1ms"},
          {"--query-threads", "N", "short queries that run at the same time; as many long ones run beside them", "2"},
          {"--query-deadline", "D", "for queries that name no timeout", "10s"},
          {"--query-bytes", "SIZE", "what one query may read and hold in memory, decoded", "1GiB"},
          {"--query-grpc", "ADDR", "HOST:PORT of queries over gRPC (default: off)"},
          {"--grpc-connection-age", "D",
           "gRPC connections are asked to come anew after this; calls under way are finished; 0s: never", "5m"},
          {"--cors-allow-origin", "ORIGIN", "let browsers' SDKs of this origin (or *) send spans (default: none)"}};
}

std::string default_data_directory(const std::optional<std::string>& xdg_data_home,
                                   const std::optional<std::string>& home) {
  // The XDG specification has relative paths ignored.
  if (xdg_data_home && xdg_data_home->starts_with('/')) return *xdg_data_home + "/fathom";
  if (home && !home->empty()) return *home + "/.local/share/fathom";
  return "";
}

std::vector<std::string> words_of(const Args& args, const std::vector<Flag>& flags) {
  std::vector<std::string> words;
  for (const Flag& flag : flags) {
    bool is_switch = flag.value.empty();
    if (is_switch && args.has(flag.name)) words.push_back(flag.name);
    if (is_switch) continue;
    for (const std::string& value : args.all(flag.name)) words.push_back(flag.name + "=" + value);
  }
  return words;
}

}  // namespace fathom::cli
