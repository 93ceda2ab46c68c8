#include "cli/snapshot_table.h"

#include "cli/sizes.h"
#include "cli/table.h"

namespace fathom::cli {

namespace {

// "step, 812 times slower"
std::string engine_text(const SnapshotRow& row) {
  const std::string slower = slowdown_text(row.slowdown);
  return row.engine + (slower.empty() ? "" : ", " + slower);
}

std::vector<std::string> snapshot_cells(const SnapshotRow& row) {
  if (!row.problem.empty()) return {"?", "?", "?", "?", "?", row.problem};
  return {engine_text(row),
          row.from,
          format_size(row.packet_bytes),
          std::to_string(row.streams),
          std::to_string(row.images - row.images_missing) + "/" + std::to_string(row.images),
          row.command};
}

}  // namespace

std::string snapshots_table(const std::vector<SnapshotRow>& rows, size_t columns) {
  const bool tells_where = !rows.empty() && !rows.front().where.empty();
  std::vector<Column> titles{{"SNAPSHOT"}};
  if (tells_where) titles.push_back({"WHERE"});
  titles.insert(titles.end(), {{"ADDED (UTC)"},
                               {"ENGINE"},
                               {"FROM"},
                               {"PACKETS", Align::kRight},
                               {"STREAMS", Align::kRight},
                               {"IMAGES", Align::kRight},
                               {"COMMAND", Align::kLeft, true}});
  Table table(std::move(titles));
  for (const SnapshotRow& row : rows) {
    std::vector<std::string> cells{row.id};
    if (tells_where) cells.push_back(row.where);
    cells.push_back(short_instant(row.added_unix_nano));
    for (std::string& cell : snapshot_cells(row)) cells.push_back(std::move(cell));
    table.add(cells);
  }
  return table.render(columns);
}

}  // namespace fathom::cli
