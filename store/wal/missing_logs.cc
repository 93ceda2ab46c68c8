#include "store/wal/missing_logs.h"

#include <optional>
#include <string>

#include "base/log.h"
#include "store/wal/manifest_size.h"
#include "store/wal/replace_env_file.h"
#include "store/wal/synced_logs.h"

namespace fathom::store {

namespace {

constexpr std::string_view kMissing = ".missing.";

// CURRENT names another manifest after each start. The mark therefore has another name if a later log of the same
// number is lost, and the same name if a start is repeated.
rocksdb::Status make_mark(rocksdb::Env& env, const LogPlaces& places, const std::string& name) {
  const std::string mark =
      places.damaged + "/" + name + std::string(kMissing) + current_manifest_name(env, places.store);
  rocksdb::Status status = make_env_directory(env, places.damaged);
  if (status.ok()) status = rocksdb::WriteStringToFile(&env, "", mark, /*should_sync=*/true);
  return status.ok() ? sync_env_directory(env, places.damaged) : status;
}

Result<> mark_log(rocksdb::Env& env, const LogPlaces& places, const std::string& name) {
  const std::string path = places.store + "/" + name;
  log_error("the log " + path +
            " is missing or empty, but acknowledged records were synced to it; this start marks their batches as lost "
            "and counts them in fathom_store_lost_batches_total");
  const rocksdb::Status status = make_mark(env, places, name);
  if (status.ok()) return {};
  return unavailable("cannot mark the loss of " + path + ": " + status.ToString());
}

// Otherwise the next start would report a log without records again.
Result<> forget_logs_without_records(rocksdb::Env& env, const std::string& store, const std::vector<LogState>& logs) {
  SyncedLogs synced = SyncedLogs::read(env, store);
  bool has_changed = false;
  for (const LogState& log : logs) {
    const std::optional<uint64_t> number = log_number(log.name);
    if (number && log.summary.records == 0) has_changed |= synced.remove(*number);
  }
  const rocksdb::Status status = has_changed ? synced.write(env, store) : rocksdb::Status::OK();
  if (status.ok()) return {};
  return unavailable("cannot update the list of synced logs in " + store + ": " + status.ToString());
}

}  // namespace

Result<> mark_missing_logs(rocksdb::Env& env, const LogPlaces& places, const std::vector<LogState>& logs) {
  for (const LogState& log : logs) {
    if (!log.is_missing) continue;
    if (Result<> marked = mark_log(env, places, log.name); !marked) return marked;
  }
  return forget_logs_without_records(env, places.store, logs);
}

bool is_missing_mark(std::string_view name) {
  return name.find(kMissing) != std::string_view::npos;
}

}  // namespace fathom::store
