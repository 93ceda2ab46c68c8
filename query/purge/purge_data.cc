#include "query/purge/purge_data.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "net/json_writer.h"
#include "query/purge/purged_content.h"
#include "snapshot/format/directory.h"
#include "snapshot/format/snapshot_file.h"
#include "store/purge/purge.h"

namespace fathom::query {

namespace {

using snapshot::SnapshotDirectory;
using snapshot::SnapshotId;

// Nothing: the server has no snapshots.
Result<std::vector<SnapshotId>> snapshots_of(const std::string& directory, const store::TraceSet& traces) {
  std::vector<SnapshotId> found;
  std::error_code ignored;
  if (traces.empty() || !std::filesystem::exists(directory, ignored)) return found;
  Result<SnapshotDirectory> snapshots = SnapshotDirectory::open(directory);
  if (!snapshots) return snapshots.error();
  Result<std::vector<SnapshotId>> ids = snapshots->list();
  if (!ids) return ids;
  for (const SnapshotId& id : *ids) {
    Result<snapshot::SnapshotFile> file = snapshots->open_snapshot(id);
    // A damaged one cannot be shown to anybody.
    if (file && traces.contains(file->snapshot().trigger.trace_id)) found.push_back(id);
  }
  return found;
}

Result<> remove_snapshots(const std::string& directory, const std::vector<SnapshotId>& ids) {
  if (ids.empty()) return {};
  Result<SnapshotDirectory> snapshots = SnapshotDirectory::open(directory);
  if (!snapshots) return snapshots.error();
  for (const SnapshotId& id : ids) {
    if (Result<> removed = snapshots->remove(id); !removed) return removed;
  }
  return {};
}

PurgeCounts counts_of(const store::PurgeReport& report) {
  PurgeCounts counts;
  counts.traces = report.purged.traces.size();
  counts.spans = report.spans;
  counts.spans_left = report.spans_left;
  counts.captures = report.purged.captures.size() - report.purged.skipped_captures;
  counts.skipped_captures = report.purged.skipped_captures;
  for (const store::CaptureId& id : report.purged.unreadable) counts.unreadable_captures.push_back(id.hex());
  return counts;
}

}  // namespace

Result<PurgeCounts> purge_data(const DataPurge& purge, const store::Findings::Progress& progress) {
  const std::string snapshots = purge.directory + "/server-snapshots";
  uint64_t removed = 0;
  store::PurgeRequest request{.directory = purge.directory, .rule = {}, .dry_run = purge.dry_run};
  request.rule.where = purge.where;
  request.rule.is_cancelled = purge.is_cancelled;
  request.rule.is_purged_content = [&](std::string_view content, const store::TraceSet& traces) {
    return is_purged_content(content, traces, purge.where);
  };
  request.remove_snapshots = [&](const store::PurgeSet& purged) -> Result<> {
    Result<std::vector<SnapshotId>> ids = snapshots_of(snapshots, purged.traces);
    if (!ids) return ids.error();
    removed = ids->size();
    return remove_snapshots(snapshots, *ids);
  };
  Result<store::PurgeReport> report = store::purge_store(request, progress);
  if (!report) return report.error();
  PurgeCounts counts = counts_of(*report);
  if (purge.dry_run) {
    Result<std::vector<SnapshotId>> ids = snapshots_of(snapshots, report->purged.traces);
    if (!ids) return ids.error();
    removed = ids->size();
  }
  counts.snapshots = removed;
  return counts;
}

std::string to_json(const PurgeCounts& counts) {
  std::string text;
  net::JsonWriter json(text);
  json.begin_object().member("traces", counts.traces).member("spans", counts.spans);
  json.member("spans_left", counts.spans_left).member("captures", counts.captures);
  json.member("skipped_captures", counts.skipped_captures).member("snapshots", counts.snapshots);
  json.key("unreadable_captures").begin_array();
  for (const std::string& id : counts.unreadable_captures) json.string(id);
  json.end_array().end_object();
  return text;
}

}  // namespace fathom::query
