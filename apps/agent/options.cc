#include "apps/agent/options.h"

#include <bit>

#include "cli/agent_program_flags.h"
#include "cli/config_file.h"
#include "cli/filter_flags.h"
#include "cli/sizes.h"
#include "net/address.h"
#include "redact/redactor.h"

namespace fathom {

namespace {

constexpr uint64_t kLeastSpoolBytes = 1 << 20;
constexpr size_t kMostSocketBytes = 107;  // sockaddr_un

cli::CommandLine make_line() {
  return {
      "fathom-agent",
      "takes the spans of this host's programs out of their memory and brings them to a collector",
      "One per host; usually started by 'fathom up' or systemd, which start it again should it die and keep the "
      "programs' memory meanwhile. The log goes to standard error. SIGTERM and SIGINT end it: what programs have "
      "left until then is sent or spooled first. SIGHUP has it read --config, certificates and tokens again. The exit "
      "status is 0 then, 2 for a wrong command line or "
      "configuration file, and 5 when it cannot start.",
      {},
      cli::join({cli::config_flags(),
                 cli::agent_program_flags(),
                 {{"--print-sources", "",
                   "say as JSON what this user's agent may record on this host, and why not the rest; then end", "",
                   false, true},
                  {"--ready-fd", "N", "a descriptor that gets one line of JSON, the socket's path, when all is ready",
                   "", false, true}}}),
      {{"fathom-agent --print-config > agent.conf", "every key, with its default"},
       {"fathom-agent --collector traces.example:7072", "on a host of a fleet"},
       {"fathom-agent --agent-socket /tmp/a.sock --state /tmp/a",
        "beside another, for a test; programs find it by "
        "FATHOM_AGENT_SOCKET=/tmp/a.sock"}}};
}

bool is_absolute(const std::optional<std::string>& path) {
  return path && path->starts_with('/');
}

std::string default_socket(const AgentEnvironment& environment) {
  if (environment.agent_socket && !environment.agent_socket->empty()) return *environment.agent_socket;
  if (environment.root) return "/run/fathom/agent.sock";
  return is_absolute(environment.xdg_runtime_dir) ? *environment.xdg_runtime_dir + "/fathom/agent.sock" : "";
}

std::string default_state(const AgentEnvironment& environment) {
  if (environment.root) return "/var/lib/fathom-agent";
  if (is_absolute(environment.xdg_state_home)) return *environment.xdg_state_home + "/fathom-agent";
  return is_absolute(environment.home) ? *environment.home + "/.local/state/fathom-agent" : "";
}

Result<> check_places(const cli::Args& args) {
  const auto socket = args.given("--agent-socket");
  if (socket && (socket->empty() || socket->size() > kMostSocketBytes)) {
    return invalid("--agent-socket: the path of a socket has from 1 to " + std::to_string(kMostSocketBytes) + " bytes");
  }
  const auto state = args.given("--state");
  if (state && state->empty()) return invalid("--state: the directory's name is empty");
  return {};
}

Result<> slowest_options(const cli::Args& args, AgentProgramOptions& options) {
  constexpr uint64_t kShortestNano = 1'000'000'000;
  constexpr uint64_t kLongestNano = 3'600'000'000'000;
  Result<uint64_t> period = args.duration_nano("--slowest-period");
  if (!period) return period.error();
  if (*period < kShortestNano || *period > kLongestNano) return invalid("--slowest-period: from 1s to 1h");
  options.slowest_period_nano = *period;
  Result<uint64_t> bytes = args.size_bytes("--slowest-memory");
  if (!bytes) return bytes.error();
  if (*bytes < 1 << 20) return invalid("--slowest-memory: at least 1MiB");
  options.slowest_bytes = *bytes;
  return {};
}

Result<> kernel_options(const cli::Args& args, AgentProgramOptions& options) {
  Result<std::string> kernel = args.one_of("--kernel-events", {"off", "requested", "scheduling", "traced"});
  if (!kernel) return kernel.error();
  options.kernel_events = *kernel;
  Result<uint64_t> bytes = args.size_bytes("--kernel-events-memory");
  if (!bytes) return bytes.error();
  if (*bytes < 64 << 10 || *bytes > 256 << 20) return invalid("--kernel-events-memory: from 64KiB to 256MiB");
  options.kernel_events_bytes = *bytes;
  return {};
}

Result<> capture_options(const cli::Args& args, AgentProgramOptions& options) {
  constexpr uint64_t kMebibyte = 1 << 20;
  options.captures = !args.has("--no-captures");
  if (Result<> kernel = kernel_options(args, options); !kernel) return kernel;
  if (Result<> slowest = slowest_options(args, options); !slowest) return slowest;
  Result<uint64_t> budget = args.size_bytes("--capture-budget");
  if (!budget) return budget.error();
  if (*budget < kMebibyte || *budget > 64 * kMebibyte) return invalid("--capture-budget: from 1MiB to 64MiB");
  options.capture_budget_bytes = *budget;
  if (!args.given("--overdue-after")) return {};
  Result<uint64_t> overdue = args.duration_nano("--overdue-after");
  if (!overdue) return overdue.error();
  if (*overdue == 0) return invalid("--overdue-after: every span would be overdue");
  options.overdue_after_nano = *overdue;
  return {};
}

Result<> pt_options(const cli::Args& args, AgentProgramOptions& options) {
  constexpr uint64_t kMebibyte = 1 << 20;
  constexpr uint64_t kShortestNano = 1'000'000;
  constexpr uint64_t kLongestNano = 5'000'000'000;
  options.pt = args.has("--pt");
  if (options.pt && !options.captures) return invalid("--pt: snapshots want triggers, which --no-captures takes away");
  Result<uint64_t> buffer = args.number("--pt-buffer-mib", 1, 1024);
  if (!buffer) return buffer.error();
  if (!std::has_single_bit(*buffer)) return invalid("--pt-buffer-mib: a power of two, like 16 or 64");
  options.pt_buffer_bytes = *buffer * kMebibyte;
  Result<uint64_t> window = args.duration_nano("--pt-window");
  if (!window) return window.error();
  if (*window < kShortestNano || *window > kLongestNano) return invalid("--pt-window: from 1ms to 5s");
  options.pt_window_nano = *window;
  options.pt_all_users = args.has("--pt-all-users");
  options.pt_private_images = args.has("--pt-private-images");
  options.pt_symbol = args.get("--pt-symbol");
  if (!options.pt_symbol.empty() && !options.pt) return invalid("--pt-symbol: only with --pt");
  if (!options.pt_symbol.empty() && options.pt_symbol.find(':') == std::string::npos) {
    return invalid("--pt-symbol: FILE:FUNCTION, like /usr/bin/shop:handle");
  }
  Result<uint64_t> spool = args.size_bytes("--pt-spool");
  if (!spool) return spool.error();
  options.pt_spool_bytes = *spool;
  return {};
}

// The key is not read here: it may have to be made.
Result<> redact_options(const cli::Args& args, AgentProgramOptions& options) {
  options.redact = args.all("--redact");
  options.redact_key_file = args.get("--redact-key-file");
  auto rules = Redactor::make(options.redact, {});
  if (!rules) return rules.error();
  return {};
}

Result<> security_options(const cli::Args& args, AgentProgramOptions& options) {
  auto files = cli::listener_files(args, {options.http_address});
  if (!files) return files.error();
  options.security = *std::move(files);
  if (Result<> named = cli::client_files_named(args, "--collector-"); !named) return named;
  options.collector_security = cli::client_security(args, "--collector-");
  options.collector_security.scope = net::Scope::kAgent;
  const net::ClientSecurity& shown = options.collector_security;
  options.collector_tls = args.has("--collector-tls") || !shown.ca.empty() || !shown.certificate.empty();
  if (shown.token_file.empty() || options.collector_tls || net::is_loopback(options.collector)) return {};
  return invalid("--collector-token-file: the token would go to " + options.collector +
                 " in the clear; the collector must speak TLS: --collector-tls, or --collector-ca FILE");
}

}  // namespace

const cli::CommandLine& agent_command_line() {
  static const cli::CommandLine kLine = make_line();
  return kLine;
}

Result<AgentProgramOptions> agent_options(const cli::Args& args, const AgentEnvironment& environment) {
  AgentProgramOptions options;
  if (Result<> named = check_places(args); !named) return named.error();
  options.agent_socket = args.given("--agent-socket").value_or(default_socket(environment));
  if (options.agent_socket.empty())
    return invalid("there is no usual place for the socket; say where: --agent-socket PATH");
  options.state_directory = args.given("--state").value_or(default_state(environment));
  if (options.state_directory.empty())
    return invalid("there is no home directory to keep state in; say where: --state DIR");
  Result<std::string> collector = args.address("--collector");
  if (!collector) return collector.error();
  options.collector = *collector;
  options.node_name = args.get("--node-name");
  if (Result<> redaction = redact_options(args, options); !redaction) return redaction.error();
  Result<uint64_t> spool = args.size_bytes("--spool-limit");
  if (!spool) return spool.error();
  options.spool_limit_bytes = *spool;
  if (*spool != 0 && *spool < kLeastSpoolBytes) {
    return invalid("--spool-limit: '" + args.get("--spool-limit") + "' is " + cli::format_size(*spool) +
                   ", too little to keep anything in; write 1MiB or more, or 0 for no more than what there is");
  }
  if (!args.get("--http").empty()) {
    Result<std::string> http = args.address("--http");
    if (!http) return http.error();
    options.http_address = *http;
  }
  if (Result<LogLevel> level = cli::log_level(args); !level) return level.error();
  if (Result<> security = security_options(args, options); !security) return security.error();
  Result<> captures = capture_options(args, options);
  if (!captures) return captures.error();
  Result<> pt = pt_options(args, options);
  if (!pt) return pt.error();
  options.pt_stand_in = environment.pt_stand_in == "1";
  if (args.given("--ready-fd")) {
    Result<uint64_t> ready_fd = args.number("--ready-fd", 1, 65'535);
    if (!ready_fd) return ready_fd.error();
    options.ready_fd = static_cast<int>(*ready_fd);
  }
  return options;
}

}  // namespace fathom
