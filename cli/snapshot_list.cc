// fathom snapshot list: of this host as fathom-worker reads them, and of a server as it says.
#include <algorithm>
#include <unordered_map>

#include "cli/api.h"
#include "cli/filter_flags.h"
#include "cli/pages.h"
#include "cli/slowest.h"
#include "cli/snapshot.h"
#include "cli/snapshot_table.h"
#include "cli/snapshot_worker.h"

namespace fathom::cli {

namespace {

std::vector<Flag> list_flags() {
  return {{"--limit", "N", "the newest N; 0: all", "0"}, format_flag("table")};
}

std::vector<Flag> here_flags() {
  return join({list_flags(), worker_flags()});
}

CommandLine list_line() {
  return {"fathom snapshot list",
          "which snapshots there are, the newest first",
          "IMAGES is how many of the programs and libraries that ran are there, of how many. Without --server or --url "
          "no server is asked. With one of them WHERE is here, server or both, and the server's instants are those "
          "at which it received a snapshot. Those that only the server has are fetched by whoever asks about them by "
          "id.",
          {},
          join({{{"--server", "", "those of the server, too: of --url, or where that is unless said"}},
                here_flags(),
                connection_flags()}),
          {{"fathom snapshot list", "all of this host"},
           {"fathom snapshot list --server", "those of the server, too"},
           {"fathom snapshot list --format json | jq -r '.[0].snapshot_id'", "the newest one's id"}}};
}

std::string engine_of(const boost::json::value& snapshot) {
  const std::string engine = text_of(snapshot, "engine");
  if (engine == "intel_pt") return "pt";
  return engine == "stand_in" ? "stand-in" : engine;
}

std::string origin_of(const boost::json::value& snapshot) {
  std::string origin = text_of(snapshot, "origin");
  if (origin == "perf_data") return "perf.data";
  std::ranges::replace(origin, '_', ' ');
  return origin;
}

// A server's row by the names of this host's.
boost::json::object row_of(const boost::json::value& snapshot) {
  boost::json::object row{{"snapshot_id", text_of(snapshot, "id")},
                          {"added_time_unix_nano", text_of(snapshot, "received_unix_nano")}};
  if (flag_of(snapshot, "damaged")) {
    row["problem"] = "the server cannot read its file any more";
    return row;
  }
  row["engine"] = engine_of(snapshot);
  row["from"] = origin_of(snapshot);
  const double slowdown = real_of(snapshot, "slowdown");
  row["slowdown"] = slowdown > 0 ? boost::json::value(slowdown) : boost::json::value();
  for (const char* text : {"host", "command"}) row[text] = text_of(snapshot, text);
  for (const char* number : {"packet_bytes", "streams", "images"}) row[number] = number_of(snapshot, number);
  row["images_missing"] = number_of(snapshot, "missing_images");
  return row;
}

// What both have is this host's row.
boost::json::array joined(boost::json::array here, const boost::json::array& server) {
  std::unordered_map<std::string, size_t> places;
  for (size_t i = 0; i < here.size(); ++i) {
    here[i].as_object()["where"] = "here";
    places.emplace(text_of(here[i], "snapshot_id"), i);
  }
  for (const boost::json::value& snapshot : server) {
    const auto known = places.find(text_of(snapshot, "id"));
    if (known != places.end()) {
      here[known->second].as_object()["where"] = "both";
      continue;
    }
    here.push_back(row_of(snapshot));
    here.back().as_object()["where"] = "server";
  }
  std::stable_sort(here.begin(), here.end(), [](const boost::json::value& a, const boost::json::value& b) {
    return number_of(a, "added_time_unix_nano") > number_of(b, "added_time_unix_nano");
  });
  return here;
}

SnapshotRow table_row(const boost::json::value& row) {
  const uint64_t images = number_of(row, "images");
  return {text_of(row, "snapshot_id"),
          text_of(row, "where"),
          number_of(row, "added_time_unix_nano"),
          text_of(row, "problem"),
          text_of(row, "engine"),
          real_of(row, "slowdown"),
          text_of(row, "from"),
          number_of(row, "packet_bytes"),
          number_of(row, "streams"),
          images,
          std::min(images, number_of(row, "images_missing")),
          text_of(row, "command")};
}

// Without a limit: which of them the server has, too, could not be told from a part of them.
Result<boost::json::array> of_server(const Args& args, const Context& context) {
  Result<Api> api = connect(args, context);
  if (!api) return api.error();
  return fetch_pages(*api, Target("/api/v1/snapshots"), "snapshots", kMostRows);
}

void print_list(const boost::json::array& rows, const std::string& format, const Context& context) {
  if (format == "json") return context.out(rows_json(rows));
  if (rows.empty()) return context.err("there is no snapshot, neither here nor on the server\n");
  std::vector<SnapshotRow> table;
  for (const boost::json::value& row : rows) table.push_back(table_row(row));
  context.out(snapshots_table(table, context.columns));
}

ExitCode list_both(const Args& args, const Context& context) {
  Result<std::string> format = format_of(args, "table");
  if (!format) return failed(context, format.error());
  Result<uint64_t> limit = args.number("--limit", 0, kMostRows);
  if (!limit) return failed(context, limit.error());
  std::string answer;
  const ExitCode code = run_worker(args, context, {{"list"}, worker_flags(), "", 0, &answer});
  if (code != ExitCode::kOk) return code;
  Result<boost::json::value> here = parse_json(answer);
  if (!here) return failed_here(context, here.error());
  if (!here->is_array()) return failed_here(context, internal("fathom-worker's list is none"));
  Result<boost::json::array> server = of_server(args, context);
  if (!server) return failed(context, server.error());
  boost::json::array rows = joined(std::move(here->as_array()), *server);
  if (*limit != 0 && rows.size() > *limit) rows.resize(*limit);
  print_list(rows, *format, context);
  return ExitCode::kOk;
}

ExitCode run_list(const Args& args, const Context& context) {
  if (args.has("--server") || args.given("--url")) return list_both(args, context);
  return run_worker(args, context, {{"list"}, here_flags(), ""});
}

}  // namespace

const Command& snapshot_list_command() {
  static const Command kCommand{list_line(), run_list};
  return kCommand;
}

}  // namespace fathom::cli
