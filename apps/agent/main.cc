// fathom-agent: takes the spans of this host's programs out of their memory and brings them to a collector.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "apps/agent/daemon.h"
#include "apps/agent/redaction.h"
#include "apps/agent/sources.h"
#include "base/journal.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/open_files.h"
#include "cli/addresses.h"
#include "cli/config_file.h"
#include "cli/exit_codes.h"
#include "cli/help.h"
#include "cli/reload.h"

namespace fathom {

namespace {

// What Daemon::reload() takes, and the log's level.
const std::vector<std::string> kReloadable = {"log-level", "spool-limit", "capture-budget",
                                              "pt-spool",  "redact",      "redact-key-file"};

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

AgentEnvironment agent_environment() {
  return {.root = ::geteuid() == 0,
          .agent_socket = environment("FATHOM_AGENT_SOCKET"),
          .xdg_runtime_dir = environment("XDG_RUNTIME_DIR"),
          .xdg_state_home = environment("XDG_STATE_HOME"),
          .home = environment("HOME"),
          .pt_stand_in = environment("FATHOM_PT_STAND_IN")};
}

void announce(const AgentProgramOptions& options) {
  log_info("ready version=" FATHOM_VERSION " agent_socket=" + options.agent_socket + " collector=" + options.collector +
           " state=" + options.state_directory);
  if (!options.ready_fd) return;
  std::string line = cli::addresses_line({.agent_socket = options.agent_socket});
  // Shorter than a pipe's atomic write; whoever asked for it and went away does not need it.
  if (::write(*options.ready_fd, line.data(), line.size()) < 0) log_warning("nobody reads the ready line");
  ::close(*options.ready_fd);
}

cli::ExitCode refuse(cli::ExitCode code, const std::string& message) {
  const std::string prefix(journal_prefix(LogLevel::kError));
  std::fprintf(stderr, "%sfathom-agent: %s\n", prefix.c_str(), message.c_str());
  return code;
}

cli::ExitCode print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return cli::ExitCode::kOk;
}

Result<AgentProgramOptions> options_of(const cli::Settings& settings) {
  Result<AgentProgramOptions> options = agent_options(settings.args, agent_environment());
  if (!options) return settings.located(options.error());
  return options;
}

cli::ExitCode serve(const cli::Settings& settings, const AgentProgramOptions& options) {
  // Before any thread: variables of the environment are taken away, and signals blocked.
  std::vector<agent::InheritedFd> inherited = agent::take_inherited();
  agent::FdStore store = agent::FdStore::of_environment();
  cli::Signals signals(cli::can_reload(settings.args));
  ::signal(SIGPIPE, SIG_IGN);
  ::setenv("GRPC_VERBOSITY", "NONE", 0);  // what it would print, we say, or try again
  raise_open_files();
  gauge("fathom_build_info", "1, with what this agent is.", "version=\"" FATHOM_VERSION "\"").set(1);
  Daemon daemon(options, std::move(store), std::move(inherited));
  Result<> started = daemon.start();
  if (!started) return refuse(cli::ExitCode::kLocalFailure, settings.located(started.error()).message);
  announce(options);
  cli::Reloader reloader(agent_command_line(), settings, kReloadable, [&daemon](const cli::Settings& anew) -> Result<> {
    Result<AgentProgramOptions> read = options_of(anew);
    return read ? daemon.reload(*read) : read.error();
  });
  daemon.run(signals, [&reloader] { reloader.reload(); });
  log_info("stopped");
  return cli::ExitCode::kOk;
}

cli::ExitCode check(const cli::Settings& settings, const AgentProgramOptions& options) {
  auto security = cli::load(options.security);
  if (!security) return refuse(cli::ExitCode::kUsage, settings.located(security.error()).message);
  auto expiries = net::expiries(options.collector_security);
  if (!expiries) return refuse(cli::ExitCode::kUsage, settings.located(expiries.error()).message);
  net::warn_of_expiry(*expiries);
  if (Result<> key = check_redact_key(options); !key) {
    return refuse(cli::ExitCode::kUsage, settings.located(key.error()).message);
  }
  return print("the configuration is right\n");
}

cli::ExitCode run(const std::vector<std::string>& words) {
  const cli::CommandLine& line = agent_command_line();
  Result<cli::Settings> settings = cli::parse_settings(line, words);
  if (!settings) return refuse(cli::ExitCode::kUsage, settings.error().message);
  if (settings->typed.wants_help()) return print(cli::command_help(line));
  if (settings->typed.has("--version")) return print("fathom-agent " FATHOM_VERSION "\n");
  if (settings->typed.has("--print-config")) return print(cli::config_text(line));
  if (settings->typed.has("--print-sources")) return print(agent::availability_json(make_sources({}).availability()));
  Result<AgentProgramOptions> options = options_of(*settings);
  if (!options) return refuse(cli::ExitCode::kUsage, options.error().message);
  if (settings->typed.has("--check-config")) return check(*settings, *options);
  set_log_level(*cli::log_level(settings->args));
  return serve(*settings, *options);
}

}  // namespace

}  // namespace fathom

int main(int argc, char** argv) {
  return static_cast<int>(fathom::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc)));
}
