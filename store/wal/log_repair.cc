#include "store/wal/log_repair.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/log.h"
#include "base/text.h"
#include "store/rocks/counters.h"
#include "store/wal/log_writer.h"
#include "store/wal/missing_logs.h"
#include "store/wal/repair_advice.h"
#include "store/wal/replace_env_file.h"
#include "store/wal/synced_logs.h"

namespace fathom::store {

namespace {

constexpr std::string_view kCopySuffix = ".intact";  // of a copy that is not finished

Error disk_error(const std::string& doing, const rocksdb::Status& status) {
  return unavailable("cannot " + doing + ": " + status.ToString());
}

class RecordCopier : public LogVisitor {
 public:
  explicit RecordCopier(LogWriter& copy) : copy_(copy) {}
  Result<> on_record(std::string_view record) override {
    hash_.add(record);
    return copy_.add(record);
  }
  Sha256 hash() { return hash_.finish(); }

 private:
  LogWriter& copy_;
  Sha256Hasher hash_;
};

bool is_set_aside(rocksdb::Env& env, const std::string& directory, const std::string& name) {
  std::vector<std::string> names;
  if (!env.GetChildren(directory, &names).ok()) return false;
  return std::ranges::any_of(names, [&](const std::string& other) { return is_same_damage(name, other); });
}

// Keeps the log, unless an interrupted start did.
rocksdb::Status set_aside(rocksdb::Env& env, const std::string& path, const std::string& directory,
                          const std::string& name) {
  rocksdb::Status status = make_env_directory(env, directory);
  if (status.ok() && is_set_aside(env, directory, name)) return sync_env_directory(env, directory);
  return status.ok() ? link_or_copy(env, path, directory + "/" + name) : status;
}

// A log that is cut short counts as damaged at its end.
std::string describe_damage(const LogState& log) {
  const uint64_t places = log.summary.damages + (log.is_cut_short ? 1 : 0);
  return places == 0 ? "had a wrong bit in a header" : "was damaged in " + plural(places, "place");
}

Result<> rename_durably(rocksdb::Env& env, const LogPlaces& places, const std::string& from, const std::string& to) {
  rocksdb::Status status = env.RenameFile(from, to);
  if (status.ok()) status = sync_env_directory(env, places.store);
  return status.ok() ? Result<>() : Result<>(disk_error("replace " + to, status));
}

rocksdb::Status set_synced_bytes(rocksdb::Env& env, const LogPlaces& places, uint64_t log, uint64_t bytes) {
  SyncedLogs synced = SyncedLogs::read(env, places.store);
  if (synced.has(log) && synced.synced_bytes(log) == bytes) return rocksdb::Status::OK();
  synced.add(log, bytes);
  return synced.write(env, places.store);
}

// A copy may be shorter than its log. Its size is listed when it is in place, and until then nothing is known.
Result<> replace_log(rocksdb::Env& env, const LogPlaces& places, uint64_t log, const std::string& copy) {
  uint64_t bytes = 0;
  rocksdb::Status status = env.GetFileSize(copy, &bytes);
  const bool is_shorter = SyncedLogs::read(env, places.store).synced_bytes(log) > bytes;
  if (status.ok() && is_shorter) status = set_synced_bytes(env, places, log, 0);
  if (!status.ok()) return disk_error("prepare " + copy, status);
  Result<> renamed = rename_durably(env, places, copy, places.store + "/" + log_name(log));
  if (renamed && bytes > 0) status = set_synced_bytes(env, places, log, bytes);
  return status.ok() ? renamed : Result<>(disk_error("update the list of synced logs", status));
}

Result<> replace(rocksdb::Env& env, const LogPlaces& places, const std::string& name, const std::string& copy) {
  const std::optional<uint64_t> log = log_number(name);
  return log ? replace_log(env, places, *log, copy) : rename_durably(env, places, copy, places.store + "/" + name);
}

// What is kept in places.damaged must not change with the log.
bool has_other_name(rocksdb::Env& env, const std::string& path) {
  uint64_t names = 0;
  return env.NumFileLinks(path, &names).ok() && names > 1;
}

Result<> replace_by_cut_copy(rocksdb::Env& env, const LogPlaces& places, const LogState& log) {
  const std::string path = places.store + "/" + log.name, copy = path + std::string(kCopySuffix);
  Result<Sha256> copied = copy_intact(env, path, copy, log.misplaced);
  return copied ? replace(env, places, log.name, copy) : copied.error();
}

// Behind its intact records, also what it was filled with.
Result<> cut_log(rocksdb::Env& env, const LogPlaces& places, const LogState& log) {
  const std::string path = places.store + "/" + log.name;
  return has_other_name(env, path) ? replace_by_cut_copy(env, places, log)
                                   : truncate_log(env, path, log.summary.intact_end());
}

Result<> cut_incomplete(rocksdb::Env& env, const LogPlaces& places, const LogState& log) {
  const std::string path = places.store + "/" + log.name;
  const uint64_t bytes = log.summary.end - log.summary.intact_end();
  if (Result<> cut = cut_log(env, places, log); !cut) return cut;
  cut_log_bytes().add(bytes);
  log_warning("the log " + path + " ended within a record, whose write a crash interrupted; its " +
              plural(bytes, "byte") + (bytes == 1 ? " was" : " were") + " cut off");
  return {};
}

Result<> sync_log(rocksdb::Env& env, const std::string& path) {
  std::unique_ptr<rocksdb::WritableFile> file;
  rocksdb::Status status = env.ReopenWritableFile(path, &file, rocksdb::EnvOptions());
  if (status.ok()) status = file->Sync();
  return status.ok() ? Result<>() : Result<>(disk_error("sync " + path, status));
}

// After a failed sync only the page cache has the last records, and a later sync does not write them. A copy does.
Result<> make_durable(rocksdb::Env& env, const LogPlaces& places, const LogState& log) {
  const std::string path = places.store + "/" + log.name, copy = path + std::string(kCopySuffix);
  Result<Sha256> copied = copy_intact(env, path, copy);
  if (copied) return replace(env, places, log.name, copy);
  log_warning("the log " + path + " is synced, not copied: " + copied.error().message);
  return sync_log(env, path);
}

// RocksDB writes the tables of a log to files one after the other. If the power fails meanwhile and the log loses its
// last records, some tables have them and others do not. Earlier logs were synced before the newest one was written.
Result<> make_newest_durable(rocksdb::Env& env, const LogPlaces& places, const std::vector<LogState>& logs) {
  const auto newest =
      std::find_if(logs.rbegin(), logs.rend(), [](const LogState& log) { return log.summary.records > 0; });
  if (newest == logs.rend() || newest->is_damaged() || newest->summary.corrected) return {};
  return make_durable(env, places, *newest);
}

rocksdb::Status delete_unfinished_copies(rocksdb::Env& env, const std::string& directory) {
  std::vector<std::string> names;
  rocksdb::Status status = env.GetChildren(directory, &names);
  for (const std::string& name : names) {
    if (status.ok() && name.ends_with(kCopySuffix)) status = env.DeleteFile(directory + "/" + name);
  }
  return status;
}

bool is_to_be_copied(const LogState& log) {
  return !log.is_missing && (log.is_damaged() || log.summary.corrected);
}

Result<> repair_log(rocksdb::Env& env, const LogPlaces& places, const LogState& log) {
  const std::string path = places.store + "/" + log.name;
  const bool has_rest = log.summary.incomplete_from || log.summary.is_filled();
  if (log.is_missing) return has_rest ? truncate_log(env, path, 0) : Result<>();
  const bool is_incomplete = log.summary.incomplete_from && !log.is_cut_short;
  const bool needs_copy = is_to_be_copied(log);
  // An interrupted start may have set it aside, with its end.
  if (is_incomplete && !(needs_copy && has_other_name(env, path))) {
    if (Result<> cut = cut_incomplete(env, places, log); !cut) return cut;
  }
  if (!needs_copy) return log.summary.is_filled() && !is_incomplete ? cut_log(env, places, log) : Result<>();
  if (Result<> replaced = replace_by_intact_copy(env, places, log); !replaced) return replaced;
  log_error("the log " + path + " " + describe_damage(log) + "; it was moved to " + places.damaged +
            " and replaced by a copy of its " + plural(log.summary.records, "intact record") +
            (log.missing_bytes > 0 ? "; missing at its end, and synced unless the power failed meanwhile: " +
                                         plural(log.missing_bytes, "byte")
                                   : ""));
  return {};
}

// Copies of large logs take time, during which the server answers nothing.
class RepairProgress {
 public:
  RepairProgress(const LogPlaces& places, const std::vector<LogState>& logs) {
    uint64_t bytes = 0;
    for (const LogState& log : logs) {
      if (!is_to_be_copied(log)) continue;
      ++damaged_;
      bytes += log.summary.bytes;
    }
    if (damaged_ == 0) return;
    log_warning("damaged logs in " + places.store + ": " + std::to_string(damaged_) + " of " +
                std::to_string(logs.size()) + "; copying their intact records, at most " + plural(bytes, "byte"));
  }
  void repaired(const LogState& log) {
    if (!is_to_be_copied(log)) return;
    log_info("repaired logs: " + std::to_string(++repaired_) + " of " + std::to_string(damaged_));
  }

 private:
  uint64_t damaged_ = 0;
  uint64_t repaired_ = 0;
};

// What keeps a damaged log from being repaired here need not do so elsewhere.
Error with_ways_out(const Error& error, const LogPlaces& places) {
  const std::string directory = places.damaged.substr(0, places.damaged.rfind('/'));
  return unavailable("cannot repair a damaged log: " + error.message +
                     "; if the disk is full, delete a file of another program" + repair_advice(directory));
}

}  // namespace

Result<> truncate_log(rocksdb::Env& env, const std::string& path, uint64_t size) {
  std::unique_ptr<rocksdb::WritableFile> file;
  rocksdb::Status status = env.ReopenWritableFile(path, &file, rocksdb::EnvOptions());
  if (status.ok()) status = file->Truncate(size);
  if (status.ok()) status = file->Sync();
  return status.ok() ? Result<>() : Result<>(disk_error("cut " + path, status));
}

Result<Sha256> copy_intact(rocksdb::Env& env, const std::string& from, const std::string& to,
                           const RecordNumbers& left_out) {
  Result<LogWriter> copy = LogWriter::create(env, to);
  if (!copy) return copy.error();
  RecordCopier copier(*copy);
  Result<LogSummary> copied = scan_log(env, from, copier, left_out);
  Result<> finished = copied ? copy->finish() : Result<>(copied.error());
  if (finished) return copier.hash();
  env.DeleteFile(to).PermitUncheckedError();
  return finished.error();
}

Result<> replace_by_intact_copy(rocksdb::Env& env, const LogPlaces& places, const LogState& log) {
  const std::string path = places.store + "/" + log.name, copy = path + std::string(kCopySuffix);
  Result<Sha256> intact = copy_intact(env, path, copy, log.misplaced);
  if (!intact) return intact.error();
  rocksdb::Status status =
      set_aside(env, path, places.damaged, name_set_aside(log.name, *intact, log.range, log.missing_bytes));
  if (!status.ok()) return disk_error("set " + path + " aside", status);
  return replace(env, places, log.name, copy);
}

Result<LogRepair> repair_logs(rocksdb::Env& env, const LogPlaces& places) {
  rocksdb::Status deleted = delete_unfinished_copies(env, places.store);
  if (!deleted.ok()) return disk_error("delete unfinished copies of logs", deleted);
  Result<std::vector<LogState>> logs = scan_logs(env, places.store);
  if (!logs) return logs.error();
  if (Result<> marked = mark_missing_logs(env, places, *logs); !marked) return marked.error();
  LogRepair repair;
  RepairProgress progress(places, *logs);
  for (const LogState& log : *logs) {
    if (Result<> repaired = repair_log(env, places, log); !repaired) return with_ways_out(repaired.error(), places);
    progress.repaired(log);
    repair.was_cut |= log.summary.incomplete_from.has_value();
  }
  Result<> durable = make_newest_durable(env, places, *logs);
  return durable ? Result<LogRepair>(repair) : durable.error();
}

Result<std::vector<std::string>> logs_set_aside(rocksdb::Env& env, const LogPlaces& places) {
  Result<std::vector<LogFile>> logs = list_logs(env, places.damaged);
  if (!logs) return logs.error();
  std::vector<std::string> names;
  for (const LogFile& log : *logs) names.push_back(log.name);
  return names;
}

}  // namespace fathom::store
