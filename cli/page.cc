#include "cli/api.h"
#include "cli/command.h"
#include "cli/page_link.h"

namespace fathom::cli {

namespace {

CommandLine page_line() {
  return {
      "fathom page",
      "the address of the page in the browser, with your token",
      "Prints a link to the server's page. If the server asks for tokens, the link lets your browser in: it holds a "
      "code that the page exchanges for your token. The code works once, and for ten minutes.",
      {},
      connection_flags(),
      {{"fathom page", "of the server on this host"},
       {"fathom page --url https://traces.example:7070 --token-file FILE", "of another server"}}};
}

ExitCode run_page(const Args& args, const Context& context) {
  Result<Api> api = connect(args, context);
  if (!api) return failed(context, api.error());
  Result<std::string> link = page_link(*api, server_url(args, context));
  if (!link) return failed(context, link.error());
  context.out(*link + "\n");
  return ExitCode::kOk;
}

}  // namespace

const Command& page_command() {
  static const Command kCommand{page_line(), run_page};
  return kCommand;
}

}  // namespace fathom::cli
