#include <cerrno>
#include <cstring>
#include <fstream>

#include "cli/command.h"
#include "cli/filter_flags.h"
#include "cli/joined.h"
#include "cli/text.h"

namespace fathom::cli {

namespace {

CommandLine export_line() {
  return {"fathom export",
          "one request and what its threads did, as a file for another program's page",
          "Perfetto's page (ui.perfetto.dev, or one of your own) opens the file: processes and threads as rows, spans "
          "and system calls as slices, events with their values, states of threads, processors. Times are the "
          "calendar's. It has everything that the captures have, other requests of these processes included.",
          {id_positional()},
          join({{{"--perfetto", "FILE", "where to write the trace for Perfetto; - is standard output"}},
                part_flags(),
                connection_flags()}),
          {{"fathom export --perfetto slow.pftrace 4bf92f3577b34da6a3ce929d0e0e4736", "a file to open or to send"},
           {"fathom export --perfetto - 4bf92f3577b34da6a3ce929d0e0e4736 | gzip > slow.pftrace.gz",
            "the same, packed; the page opens it as it is"}}};
}

Result<> write_file(const std::string& path, const std::string& body) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(body.data(), static_cast<std::streamsize>(body.size()));
  file.close();
  if (file) return {};
  return internal("cannot write '" + printable(path) + "': " + std::strerror(errno));
}

ExitCode deliver(const std::string& path, const std::string& body, const Context& context) {
  if (path == "-") {
    context.out(body);
    return ExitCode::kOk;
  }
  Result<> written = write_file(path, body);
  if (!written) return failed_here(context, written.error());
  context.err("wrote " + group_digits(body.size()) + " bytes to " + printable(path) + "; open it at ui.perfetto.dev\n");
  return ExitCode::kOk;
}

ExitCode run_export(const Args& args, const Context& context) {
  std::string path = args.get("--perfetto");
  if (path.empty()) return failed(context, invalid("--perfetto FILE says where to write it, and in which format"));
  Result<Api> api = connect(args, context);
  if (!api) return failed(context, api.error());
  Result<std::string> body = fetch_joined(*api, args, {.name = "perfetto", .everything = true});
  if (!body) return not_fetched(context, body.error());
  return deliver(path, *body, context);
}

}  // namespace

const Command& export_command() {
  static const Command kCommand{export_line(), run_export};
  return kCommand;
}

}  // namespace fathom::cli
