// fathom purge: has a server delete the traces with a matching span, and waits until it is done.
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "cli/api.h"
#include "cli/command.h"
#include "cli/filter_flags.h"
#include "cli/purge_text.h"
#include "net/json_writer.h"

namespace fathom::cli {

namespace {

constexpr uint64_t kLookNano = kNanosPerSecond / 2;
constexpr uint64_t kSayNano = 15 * kNanosPerSecond;
constexpr const char* kMostRows = "1000";

Flag where_flag() {
  for (const Flag& flag : condition_flags()) {
    if (flag.name == "--where") return flag;
  }
  return {};
}

CommandLine purge_line() {
  return {
      "fathom purge",
      "delete the requests with a matching span: spans, captures, snapshots",
      "Deletes each trace that has a span for which all conditions hold, whole: its spans in blocks, indexes and logs, "
      "and its captures and snapshots. The attributes of a span's events, links and scope count, too. A capture is "
      "also "
      "deleted if an event in it matches, or if it tells of a deleted trace. The server copies what stays, searches "
      "the copy, and then uses it. Meanwhile it does not answer and takes no spans: agents keep theirs, and SDKs try "
      "again for a while. It needs free disk space for the copy. 'fathom store purge' does the same for a directory "
      "that no server uses. Spans that arrive later are stored: stop their sender, or redact them ('redact' in "
      "the server's configuration), first. Exits with 1 if nothing matches, and with 7 if captures are left that "
      "cannot be decoded.",
      {},
      join({{where_flag(),
             {"--dry-run", "", "show how many requests have a span whose attributes match, and delete nothing"},
             format_flag("text")},
            connection_flags()}),
      {{"fathom purge --where user.id=4711 --dry-run", "how many requests are that user's"},
       {"fathom purge --where user.id=4711", "delete them"},
       {"fathom purge --where card.number", "whatever has this attribute"}}};
}

std::string body_of(const std::vector<std::string>& conditions) {
  std::string body;
  net::JsonWriter json(body);
  json.begin_object().key("where").begin_array();
  for (const std::string& condition : conditions) json.string(condition);
  json.end_array().end_object();
  return body;
}

ExitCode show_matching(const Args& args, const Context& context, const Api& api) {
  Target target("/api/v1/slowest");
  if (Result<> added = add_conditions(target, args); !added) return failed(context, added.error());
  target.add("since", "3650d").add("limit", kMostRows);
  Result<std::string> answer = api.fetch(target);
  if (!answer) return failed(context, answer.error());
  if (args.get("--format") == "json") {
    context.out(*answer + "\n");
    return ExitCode::kOk;
  }
  Result<boost::json::value> rows = parse_json(*answer);
  if (!rows) return failed(context, rows.error());
  const size_t count = array_of(*rows, "rows").size();
  const bool more = std::to_string(count) == kMostRows;
  context.out((more ? "at least " : "") + std::to_string(count) + (count == 1 ? " request" : " requests") +
              " would be purged; events, links and captures were not searched\n");
  return count == 0 ? ExitCode::kNothingFound : ExitCode::kOk;
}

// The server does not answer while it purges.
Result<boost::json::value> wait_for_end(const Api& api, const Context& context, const std::string& id) {
  context.err("the server purges; it takes no spans until it is done\n");
  uint64_t waited_nano = 0, said_nano = 0;
  while (true) {
    context.sleep(kLookNano);
    waited_nano += kLookNano;
    Result<boost::json::value> status = api.json(Target("/api/v1/purge"));
    if (status && text_of(*status, "id") != id) {
      return internal("the server was started again during the purge; run the same purge again");
    }
    if (status && text_of(*status, "state") != "running") return status;
    const bool is_away =
        !status && (status.error().code == ErrorCode::kUnavailable || status.error().code == ErrorCode::kDeadline);
    if (!status && !is_away) return status;
    if (waited_nano - said_nano < kSayNano) continue;
    said_nano = waited_nano;
    context.err((is_away ? "no answer from the server for " : "the server is still stopping after ") +
                format_duration(waited_nano) +
                "; its log says how far it is. Ctrl-C ends this command, and not the purge\n");
  }
}

ExitCode show(const Args& args, const Context& context, const boost::json::value& status) {
  if (text_of(status, "state") == "failed") {
    context.fail("the purge failed: " + printable(text_of(status, "error")));
    return ExitCode::kServerRefused;
  }
  const boost::json::value& purged = member_of(status, "purged");
  context.out(args.get("--format") == "json" ? boost::json::serialize(purged) + "\n" : purge_text(purged, false));
  return purge_exit_code(purged);
}

ExitCode run_purge_command(const Args& args, const Context& context) {
  if (Result<std::string> format = format_of(args, "text"); !format) return failed(context, format.error());
  const std::vector<std::string> conditions = args.all("--where");
  if (conditions.empty() || std::ranges::count(conditions, std::string()) > 0) {
    context.fail("what is to be purged? Give a condition, like --where user.id=4711");
    return ExitCode::kUsage;
  }
  Result<Api> api = connect(args, context);
  if (!api) return failed(context, api.error());
  if (args.has("--dry-run")) return show_matching(args, context, *api);
  Result<boost::json::value> asked = api->post(Target("/api/v1/purge"), body_of(conditions));
  if (!asked) return failed(context, asked.error());
  Result<boost::json::value> status = wait_for_end(*api, context, text_of(*asked, "id"));
  return status ? show(args, context, *status) : failed(context, status.error());
}

}  // namespace

const Command& purge_command() {
  static const Command kCommand{purge_line(), run_purge_command};
  return kCommand;
}

}  // namespace fathom::cli
