#include "cli/command.h"
#include "cli/filter_flags.h"
#include "cli/places.h"
#include "cli/server_flags.h"
#include "cli/supervisor.h"

namespace fathom::cli {

namespace {

CommandLine up_line() {
  return {
      "fathom up",
      "start the server here, and keep it running",
      "Starts fathom-server, which takes spans (OTLP) and answers questions, and starts it again should it die. When "
      "all is ready, one line of JSON on standard output says where it listens; the log goes to standard error. "
      "Ctrl-C or SIGTERM end it.",
      {},
      join({place_flags(), server_flags()}),
      {{"fathom up", "on the usual ports, data in your home"},
       {"fathom up --data /srv/fathom --otlp-grpc 0.0.0.0:4317 --retention-age 30d", "for a whole network"},
       {"fathom up --data /tmp/f --http 127.0.0.1:0 --otlp-grpc 127.0.0.1:0 --otlp-http 127.0.0.1:0",
        "on free ports, for a test; read them from its output"}}};
}

Result<std::string> data_directory(const Args& args, const Context& context) {
  std::string directory = args.get("--data");
  // Usually a script's variable that is not set.
  if (args.given("--data") && directory.empty()) return invalid("--data: the directory's name is empty");
  if (directory.empty()) directory = default_data_directory(context.env("XDG_DATA_HOME"), context.env("HOME"));
  if (directory.empty()) return invalid("there is no home directory to keep data in; say where: --data DIR");
  return directory;
}

Result<Addresses> addresses_of(const Args& args) {
  Addresses addresses;
  for (auto [flag, address] : {std::pair("--http", &addresses.http), std::pair("--otlp-grpc", &addresses.otlp_grpc),
                               std::pair("--otlp-http", &addresses.otlp_http)}) {
    Result<std::string> given = args.address(flag);
    if (!given) return given.error();
    *address = *given;
  }
  if (args.get("--query-grpc").empty()) return addresses;
  Result<std::string> query_grpc = args.address("--query-grpc");
  if (!query_grpc) return query_grpc.error();
  addresses.query_grpc = *query_grpc;
  return addresses;
}

// All but the addresses, which the supervisor keeps: a port that was free once stays over a restart.
std::vector<Flag> handed_on() {
  std::vector<Flag> flags = server_flags();
  std::erase_if(flags, [](const Flag& flag) { return flag.name == "--query-grpc"; });
  return flags;
}

ExitCode supervise(const Args& args, const Context& context, const std::string& program, const std::string& directory,
                   const Addresses& addresses) {
  SupervisorOptions options;
  options.program = program;
  options.arguments = words_of(args, handed_on());
  options.arguments.push_back("--data=" + directory);
  options.addresses = addresses;
  options.on_first_ready = [&context](const Addresses& bound) { context.out(addresses_line(bound)); };
  Signals signals;
  Result<> ended = Supervisor(std::move(options), signals).run();
  if (ended) return ExitCode::kOk;
  // What is wrong with the flags the server has said by then, and a second message would bury it.
  if (ended.error().code == ErrorCode::kInvalid) return ExitCode::kUsage;
  return failed_here(context, ended.error());
}

ExitCode run_up(const Args& args, const Context& context) {
  Result<std::string> directory = data_directory(args, context);
  if (!directory) return failed(context, directory.error());
  Result<Addresses> addresses = addresses_of(args);
  if (!addresses) return failed(context, addresses.error());
  Result<std::string> program = sibling_program(context, "fathom-server");
  if (!program) return failed_here(context, program.error());
  return supervise(args, context, *program, *directory, *addresses);
}

}  // namespace

const Command& up_command() {
  static const Command kCommand{up_line(), run_up};
  return kCommand;
}

}  // namespace fathom::cli
