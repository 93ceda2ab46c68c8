// fathom-server: collector, store and query in one process, the only owner of its data directory.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/server/page.h"
#include "apps/server/purge_run.h"
#include "apps/server/server.h"
#include "apps/server/snapshot_worker.h"
#include "apps/server/upgrade_commands.h"
#include "base/journal.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/notify_socket.h"
#include "base/open_files.h"
#include "base/time.h"
#include "cli/config_file.h"
#include "cli/exit_codes.h"
#include "cli/help.h"
#include "cli/reload.h"
#include "redact/key_file.h"

namespace fathom {

namespace {

// What Server::reload() takes, and the log's level.
const std::vector<std::string> kReloadable = {"log-level",
                                              "retention-age",
                                              "retention-size",
                                              "retention-captures",
                                              "retention-snapshots",
                                              "reserve-disk",
                                              "max-request-bytes",
                                              "ingest-memory",
                                              "attributes-per-span",
                                              "events-per-span",
                                              "links-per-span",
                                              "bytes-per-value",
                                              "bytes-per-name",
                                              "operations-per-service",
                                              "services",
                                              "catalogue-memory",
                                              "listed-attribute-keys",
                                              "query-deadline",
                                              "query-bytes",
                                              "redact",
                                              "redact-key-file"};

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void announce(const cli::Addresses& addresses, const std::string& data, const std::optional<int>& ready_fd) {
  std::string query_grpc = addresses.query_grpc.empty() ? "" : " query_grpc=" + addresses.query_grpc;
  log_info("ready version=" FATHOM_VERSION " data=" + data + " http=" + addresses.http + " otlp_grpc=" +
           addresses.otlp_grpc + " otlp_http=" + addresses.otlp_http + " ingest=" + addresses.ingest + query_grpc);
  if (!ready_fd) return;
  std::string line = cli::addresses_line(addresses);
  // Shorter than a pipe's atomic write; whoever asked for it and went away does not need it.
  if (::write(*ready_fd, line.data(), line.size()) < 0) log_warning("nobody reads the ready line");
  ::close(*ready_fd);
}

cli::ExitCode refuse(cli::ExitCode code, const std::string& message) {
  const std::string prefix(journal_prefix(LogLevel::kError));
  std::fprintf(stderr, "%sfathom-server: %s\n", prefix.c_str(), message.c_str());
  return code;
}

cli::ExitCode print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return cli::ExitCode::kOk;
}

Result<ServerOptions> options_of(const cli::Settings& settings) {
  Result<ServerOptions> options = server_options(settings.args, environment("XDG_DATA_HOME"), environment("HOME"));
  if (!options) return settings.located(options.error());
  return options;
}

// Otherwise gRPC prints pages of its own on a port in use, beside the one line that we say. Before any thread.
void quiet_grpc() {
  ::setenv("GRPC_VERBOSITY", "NONE", 0);
}

// Children end and wake us up, too: what is done once a day has a time of its own. True: a purge is asked for.
bool until_stopped(cli::Signals& signals, const Server& server, cli::Reloader& reloader,
                   const query::PurgeDesk& purges) {
  uint64_t look_nano = now_monotonic_nano() + cli::kExpiryWarningNano;
  while (true) {
    const uint64_t now = now_monotonic_nano();
    if (now >= look_nano) {
      server.warn_of_expiry();
      look_nano = now + cli::kExpiryWarningNano;
    }
    const cli::Signals::Wakeup wakeup = signals.wait(purges.wait_descriptor(), look_nano - now);
    if (wakeup.stop) return false;
    if (wakeup.readable) return true;
    if (wakeup.reload) reloader.reload();
  }
}

// Keeps the ports that the first start chose, because clients know them.
void use_addresses(const cli::Addresses& addresses, ServerOptions& options) {
  options.query.http_address = addresses.http;
  options.query.grpc_address = addresses.query_grpc;
  options.collector.otlp_grpc_address = addresses.otlp_grpc;
  options.collector.otlp_http_address = addresses.otlp_http;
  options.collector.ingest_address = addresses.ingest;
}

cli::ExitCode not_started(const Server& server, const cli::Settings& settings, const Error& error) {
  if (error.code == ErrorCode::kCancelled) return cli::ExitCode::kOk;
  const auto code = server.is_data_unusable() ? cli::ExitCode::kDataUnusable : cli::ExitCode::kLocalFailure;
  return refuse(code, settings.located(error).message);
}

// Another directory waits for a restart of the process, and so does the key that lies in it.
void keep_data_directory(const ServerOptions& options, ServerOptions& anew) {
  const auto key_in = [](const ServerOptions& of) { return of.store.path + "/" + kRedactKeyFile; };
  if (anew.redact_key_file == key_in(anew)) anew.redact_key_file = key_in(options);
  anew.store.path = options.store.path;
}

// `reloads`: SIGHUP came while no server ran. From a start to a stop. `options` are then those of the next start. No
// value: a purge is asked for.
std::optional<cli::ExitCode> serve_once(const cli::Settings& settings, ServerOptions& options, cli::Signals& signals,
                                        NotifySocket& supervisor, bool reloads) {
  Server server(options);
  Result<cli::Addresses> started = server.start(signals);
  if (!started) return not_started(server, settings, started.error());
  announce(*started, options.store.path, std::exchange(options.ready_fd, std::nullopt));
  cli::Reloader reloader(server_command_line(), settings, kReloadable, [&](const cli::Settings& anew) -> Result<> {
    Result<ServerOptions> read = options_of(anew);
    if (!read) return read.error();
    keep_data_directory(options, *read);
    if (Result<> done = server.reload(*read); !done) return done;
    adopt_reloaded(*read, options);
    return {};
  });
  if (reloads) reloader.reload();
  supervisor.say("READY=1\n");
  const bool purges = until_stopped(signals, server, reloader, *options.query.purge_desk);
  log_info("stopping");
  if (!purges) supervisor.say("STOPPING=1\n");
  server.stop();
  log_info("stopped");
  use_addresses(*started, options);
  return purges ? std::nullopt : std::optional(cli::ExitCode::kOk);
}

cli::ExitCode serve(const cli::Settings& settings, ServerOptions options) {
  NotifySocket supervisor = NotifySocket::of_environment();
  // Before any thread, so that they all leave these signals to us.
  cli::Signals signals(cli::can_reload(settings.args));
  ::signal(SIGPIPE, SIG_IGN);
  quiet_grpc();
  raise_open_files();
  gauge("fathom_build_info", "1, with what this server is.", "version=\"" FATHOM_VERSION "\"").set(1);
  options.query.purge_desk = std::make_shared<query::PurgeDesk>();
  PurgeRun last;
  while (true) {
    const auto ended = serve_once(settings, options, signals, supervisor, last.is_reload_asked);
    if (ended) return *ended;
    supervisor.say("STATUS=purging\n");
    last = run_purge(*options.query.purge_desk, options.store.path, signals);
    if (last.is_stopped) return cli::ExitCode::kOk;
    supervisor.say("STATUS=\n");
  }
}

cli::ExitCode check(const cli::Settings& settings, const ServerOptions& options) {
  auto security = cli::load(options.security);
  if (!security) return refuse(cli::ExitCode::kUsage, settings.located(security.error()).message);
  if (auto page = read_page(options.page); !page) {
    return refuse(cli::ExitCode::kUsage, settings.located(page.error()).message);
  }
  warn_if_missing(options.snapshot_worker);
  return print("the configuration is right\n");
}

cli::ExitCode run(const std::vector<std::string>& words) {
  if (const auto done = run_upgrade_command(words)) {
    if (done->ok()) return print(**done + "\n");
    const bool is_usage = done->error().code == ErrorCode::kInvalid;
    return refuse(is_usage ? cli::ExitCode::kUsage : cli::ExitCode::kLocalFailure, done->error().message);
  }
  const cli::CommandLine& line = server_command_line();
  Result<cli::Settings> settings = cli::parse_settings(line, words);
  if (!settings) return refuse(cli::ExitCode::kUsage, settings.error().message);
  if (settings->typed.wants_help()) return print(cli::command_help(line));
  if (settings->typed.has("--version")) return print("fathom-server " FATHOM_VERSION "\n");
  if (settings->typed.has("--print-config")) return print(cli::config_text(line));
  Result<ServerOptions> options = options_of(*settings);
  if (!options) return refuse(cli::ExitCode::kUsage, options.error().message);
  if (settings->typed.has("--check-config")) return check(*settings, *options);
  set_log_level(*cli::log_level(settings->args));
  return serve(*settings, *std::move(options));
}

}  // namespace

}  // namespace fathom

int main(int argc, char** argv) {
  ::umask(S_IRWXG | S_IRWXO);  // what it stores is for its own user
  return static_cast<int>(fathom::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc)));
}
