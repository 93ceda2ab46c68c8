// fathom snapshot push, pull.
#include "cli/filter_flags.h"
#include "cli/joined.h"
#include "cli/sizes.h"
#include "cli/snapshot_share.h"
#include "cli/snapshot_worker.h"

namespace fathom::cli {

namespace {

std::vector<Flag> share_flags() {
  return join({{snapshot_directory_flag()}, connection_flags()});
}

ExitCode print_shared(const Context& context, const std::string& id, const Result<Shared>& shared, const char* verb) {
  if (!shared && shared.error().code == ErrorCode::kNotFound) return not_fetched(context, shared.error());
  if (!shared) return failed(context, shared.error());
  context.err(shared_text(*shared, verb) + "\n");
  context.out("{\"snapshot_id\":\"" + id + "\"}\n");
  return ExitCode::kOk;
}

CommandLine push_line() {
  return {"fathom snapshot push",
          "send a snapshot of this host, with its images, to the server",
          "There others can list (--server), ask and pull it. Images that the server has already are not sent again; a "
          "push that "
          "broke off goes on where it stopped.",
          {snapshot_positional()},
          share_flags(),
          {{"fathom snapshot push last --url http://fathom.example:7070", "the newest one"}}};
}

ExitCode run_push(const Args& args, const Context& context) {
  Result<std::string> directory = snapshot_directory(args, context);
  if (!directory) return failed(context, directory.error());
  Result<std::string> id = find_here(*directory, args.positional(0));
  if (!id) return not_fetched(context, id.error());
  Result<Api> api = connect(args, context);
  if (!api) return failed(context, api.error());
  return print_shared(context, *id, push_snapshot(context, *api, *directory, *id), "pushed");
}

CommandLine pull_line() {
  return {
      "fathom snapshot pull",
      "fetch a snapshot, with its images, from the server to this host",
      "Images that are here already are not fetched again. 'last' goes on to be what was recorded or imported here "
      "last.",
      {{"ID",
        "a snapshot's id, its beginning, or 'last' for the server's newest: 'fathom snapshot list --server' has them, "
        "'fathom trace' those of a trace"}},
      share_flags(),
      {{"fathom snapshot pull 3fa1b0c2d4e5f60718293a4b5c6d7e8f", "then: fathom snapshot calls 3fa1"}}};
}

ExitCode run_pull(const Args& args, const Context& context) {
  Result<std::string> directory = snapshot_directory(args, context);
  if (!directory) return failed(context, directory.error());
  Result<Api> api = connect(args, context);
  if (!api) return failed(context, api.error());
  Result<std::string> id = find_on_server(*api, args.positional(0));
  if (!id) return not_fetched(context, id.error());
  const ExitCode code = print_shared(context, *id, pull_snapshot(context, *api, *directory, *id), "pulled");
  if (code == ExitCode::kOk)
    context.err("next: fathom snapshot calls " + id->substr(0, 8) + directory_words(args) + "\n");
  return code;
}

}  // namespace

std::vector<const Command*> snapshot_share_commands() {
  static const Command kPush{push_line(), run_push};
  static const Command kPull{pull_line(), run_pull};
  return {&kPush, &kPull};
}

}  // namespace fathom::cli
