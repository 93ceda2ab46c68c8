#include "apps/worker/snapshot_list.h"

#include <sys/stat.h>

#include <algorithm>

#include "cli/snapshot_table.h"
#include "net/json_writer.h"

namespace fathom {

namespace {

using snapshot::Engine;
using snapshot::Format;
using snapshot::Image;
using snapshot::Origin;
using snapshot::Snapshot;
using snapshot::SnapshotId;
using snapshot::Stream;

struct Row {
  SnapshotId id;
  uint64_t added_unix_nano = 0;
  uint64_t packet_bytes = 0;
  uint64_t images_missing = 0;
  Snapshot snapshot;
  std::string problem;
};

uint64_t written_unix_nano(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return 0;
  return static_cast<uint64_t>(about.st_mtim.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(about.st_mtim.tv_nsec);
}

Row read_row(const snapshot::SnapshotDirectory& directory, const SnapshotId& id) {
  Row row;
  row.id = id;
  row.added_unix_nano = written_unix_nano(directory.snapshot_path(id));
  auto file = directory.open_snapshot(id);
  if (!file) {
    row.problem = file.error().message;
    return row;
  }
  row.snapshot = file->snapshot();
  for (const Stream& stream : row.snapshot.streams) row.packet_bytes += stream.packet_bytes();
  for (const Image& image : row.snapshot.images) row.images_missing += image.content.is_zero() ? 1 : 0;
  row.snapshot.sideband.clear();
  return row;
}

const char* engine_name(const Snapshot& snapshot) {
  if (snapshot.engine == Engine::kStandIn) return "stand-in";
  return snapshot.engine == Engine::kStep ? "step" : "pt";
}

const char* origin_name(const Snapshot& snapshot) {
  switch (snapshot.origin) {
    case Origin::kPerfData:
      return "perf.data";
    case Origin::kRawStream:
      return "raw stream";
    default:
      return "recorded";
  }
}

cli::SnapshotRow table_row(const Row& row) {
  const Snapshot& snapshot = row.snapshot;
  return {.id = row.id.hex(),
          .added_unix_nano = row.added_unix_nano,
          .problem = row.problem,
          .engine = engine_name(snapshot),
          .slowdown = snapshot.slowdown,
          .from = origin_name(snapshot),
          .packet_bytes = row.packet_bytes,
          .streams = snapshot.streams.size(),
          .images = snapshot.images.size(),
          .images_missing = row.images_missing,
          .command = snapshot.command};
}

std::string table_of(const std::vector<Row>& rows, size_t columns) {
  std::vector<cli::SnapshotRow> table;
  for (const Row& row : rows) table.push_back(table_row(row));
  return cli::snapshots_table(table, columns);
}

void write_row(net::JsonWriter& json, const Row& row) {
  json.begin_object().member("snapshot_id", row.id.hex());
  json.member("added_time_unix_nano", std::to_string(row.added_unix_nano));
  if (!row.problem.empty()) {
    json.member("problem", row.problem).end_object();
    return;
  }
  const Snapshot& snapshot = row.snapshot;
  json.member("engine", engine_name(snapshot)).member("from", origin_name(snapshot));
  json.key("slowdown");
  snapshot.slowdown > 0 ? json.real(snapshot.slowdown) : json.null();
  json.member("host", snapshot.host).member("command", snapshot.command);
  json.member("packet_bytes", row.packet_bytes).member("streams", uint64_t{snapshot.streams.size()});
  json.member("images", uint64_t{snapshot.images.size()}).member("images_missing", row.images_missing);
  json.end_object();
}

std::string json_of(const std::vector<Row>& rows) {
  std::string text;
  net::JsonWriter json(text);
  json.begin_array();
  for (const Row& row : rows) write_row(json, row);
  json.end_array();
  return text + "\n";
}

Result<> tell(const std::vector<Row>& rows, const WorkerOptions& options, const WorkerStreams& streams) {
  if (options.question.format == Format::kSvg) return invalid("--format: a list of snapshots is a table or json");
  if (options.question.format == Format::kJson) {
    streams.out(json_of(rows));
    return {};
  }
  if (rows.empty()) streams.remark("there is no snapshot yet; `fathom record` and `fathom snapshot import` make them");
  if (!rows.empty()) streams.out(table_of(rows, options.columns));
  return {};
}

}  // namespace

Result<> list_snapshots(const snapshot::SnapshotDirectory& directory, const WorkerOptions& options,
                        const WorkerStreams& streams) {
  auto ids = directory.list();
  if (!ids) return ids.error();
  const size_t limit = options.question.limit == 0 ? ids->size() : options.question.limit;
  ids->resize(std::min(ids->size(), limit));
  std::vector<Row> rows;
  for (const SnapshotId& id : *ids) rows.push_back(read_row(directory, id));
  return tell(rows, options, streams);
}

Result<> list_nothing(const WorkerOptions& options, const WorkerStreams& streams) {
  return tell({}, options, streams);
}

}  // namespace fathom
