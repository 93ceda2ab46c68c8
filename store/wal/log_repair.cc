#include "store/wal/log_repair.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include <rocksdb/write_batch.h>

#include "base/bytes.h"
#include "base/log.h"
#include "store/rocks/counters.h"
#include "store/rocks/keys.h"
#include "store/wal/log_writer.h"
#include "store/wal/missing_logs.h"
#include "store/wal/replace_env_file.h"
#include "store/wal/synced_logs.h"

namespace fathom::store {

namespace {

constexpr std::string_view kSuffix = ".log";
constexpr std::string_view kCopySuffix = ".intact";  // of a copy that is not finished

struct LogFile {
  uint64_t number = 0;
  std::string name;
  bool exists = true;
};

Error disk_error(const std::string& doing, const rocksdb::Status& status) {
  return unavailable("cannot " + doing + ": " + status.ToString());
}

// Accepts NUMBER.log and, for damaged logs, NUMBER.log and a suffix: a repaired log can be damaged again.
std::optional<LogFile> log_file(const std::string& name) {
  LogFile file{.number = 0, .name = name};
  const char* end = name.data() + name.size();
  auto [digits_end, fault] = std::from_chars(name.data(), end, file.number);
  if (fault != std::errc() || !std::string_view(digits_end, end).starts_with(kSuffix)) return std::nullopt;
  return file;
}

void sort_by_age(std::vector<LogFile>& logs) {
  std::ranges::sort(logs, {}, &LogFile::number);
}

// Oldest first. A missing directory is an empty one.
Result<std::vector<LogFile>> list_logs(rocksdb::Env& env, const std::string& directory) {
  std::vector<std::string> names;
  rocksdb::Status status = env.GetChildren(directory, &names);
  if (status.IsNotFound()) return std::vector<LogFile>();
  if (!status.ok()) return disk_error("list " + directory, status);
  std::vector<LogFile> logs;
  for (const std::string& name : names) {
    if (std::optional<LogFile> log = log_file(name)) logs.push_back(*log);
  }
  sort_by_age(logs);
  return logs;
}

// In the store's directory, where an interrupted start leaves unfinished copies.
Result<std::vector<LogFile>> list_store_logs(rocksdb::Env& env, const std::string& directory) {
  Result<std::vector<LogFile>> logs = list_logs(env, directory);
  if (logs) std::erase_if(*logs, [](const LogFile& log) { return !log.name.ends_with(kSuffix); });
  return logs;
}

void add_missing(const SyncedLogs& synced, std::vector<LogFile>& logs) {
  for (const uint64_t number : synced.numbers()) {
    const std::string name = log_name(number);
    if (std::ranges::find(logs, name, &LogFile::name) == logs.end()) logs.push_back({number, name, false});
  }
  sort_by_age(logs);
}

bool is_listed(const SyncedLogs& synced, const std::string& name) {
  const std::optional<uint64_t> number = log_number(name);
  return number && synced.numbers().contains(*number);
}

class NullVisitor : public LogVisitor {
 public:
  Result<> on_record(std::string_view) override { return {}; }
  Result<> on_damage(const LogRange&) override { return {}; }
};

class RecordCopier : public LogVisitor {
 public:
  explicit RecordCopier(LogWriter& copy) : copy_(copy) {}
  Result<> on_record(std::string_view record) override {
    hash_.add(record);
    return copy_.add(record);
  }
  Result<> on_damage(const LogRange&) override { return {}; }
  Sha256 hash() { return hash_.finish(); }

 private:
  LogWriter& copy_;
  Sha256Hasher hash_;
};

// Links the log, unless an interrupted start did.
rocksdb::Status set_aside(rocksdb::Env& env, const std::string& path, const std::string& directory,
                          const std::string& name) {
  rocksdb::Status status = make_env_directory(env, directory);
  const std::string aside = directory + "/" + name;
  if (status.ok() && !env.FileExists(aside).ok()) status = env.LinkFile(path, aside);
  return status.ok() ? sync_env_directory(env, directory) : status;
}

// A log that is cut short counts as damaged at its end.
uint64_t damaged_places(const LogState& log) {
  return log.summary.damages + (log.is_cut_short ? 1 : 0);
}

Result<> cut_incomplete(rocksdb::Env& env, const std::string& path, const LogSummary& log) {
  const uint64_t bytes = log.bytes - *log.incomplete_from;
  cut_log_bytes().add(bytes);
  log_warning("the log " + path + " ends within a record, whose write a crash interrupted; its " +
              std::to_string(bytes) + " bytes are cut off");
  return truncate_log(env, path, *log.incomplete_from);
}

Result<> rename_durably(rocksdb::Env& env, const LogPlaces& places, const std::string& from, const std::string& to) {
  rocksdb::Status status = env.RenameFile(from, to);
  if (status.ok()) status = sync_env_directory(env, places.store);
  return status.ok() ? Result<>() : Result<>(disk_error("replace " + to, status));
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
  if (copied) return rename_durably(env, places, copy, path);
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

Result<> repair_log(rocksdb::Env& env, const LogPlaces& places, const LogState& log) {
  const std::string path = places.store + "/" + log.name;
  if (log.is_missing) return log.summary.incomplete_from ? truncate_log(env, path, 0) : Result<>();
  if (log.summary.incomplete_from && !log.is_cut_short) {
    if (Result<> cut = cut_incomplete(env, path, log.summary); !cut) return cut;
  }
  if (!log.is_damaged() && !log.summary.corrected) return {};
  log_error("the log " + path + " is damaged in " + std::to_string(damaged_places(log)) + " places; it is moved to " +
            places.damaged + " and replaced by a copy of its " + std::to_string(log.summary.records) +
            " intact records");
  return replace_by_intact_copy(env, places, log.name);
}

// Collects the stage batches of one record.
class StagePuts : public rocksdb::WriteBatch::Handler {
 public:
  explicit StagePuts(uint32_t family) : family_(family) {}

  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    ByteReader in(value.ToStringView());
    const StagedBatch batch{keys::stage_sequence(key.ToStringView()), in.u64()};
    if (family != family_ || batch.sequence == 0 || in.failed()) return rocksdb::Status::OK();
    if (!first) first = batch;
    last = batch;
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(uint32_t, const rocksdb::Slice&) override { return rocksdb::Status::OK(); }
  rocksdb::Status SingleDeleteCF(uint32_t, const rocksdb::Slice&) override { return rocksdb::Status::OK(); }
  rocksdb::Status DeleteRangeCF(uint32_t, const rocksdb::Slice&, const rocksdb::Slice&) override {
    return rocksdb::Status::OK();
  }
  rocksdb::Status MergeCF(uint32_t, const rocksdb::Slice&, const rocksdb::Slice&) override {
    return rocksdb::Status::OK();
  }
  void LogData(const rocksdb::Slice&) override {}

  std::optional<StagedBatch> first, last;

 private:
  const uint32_t family_;
};

class FirstBatch : public LogVisitor {
 public:
  explicit FirstBatch(uint32_t stage_family) : stage_family_(stage_family) {}
  Result<> on_record(std::string_view record) override {
    StagePuts puts(stage_family_);
    if (!found) rocksdb::WriteBatch(std::string(record)).Iterate(&puts).PermitUncheckedError();
    if (puts.first) found = puts.first;
    return {};
  }
  Result<> on_damage(const LogRange&) override { return {}; }

  std::optional<StagedBatch> found;

 private:
  const uint32_t stage_family_;
};

class LossFinder : public LogVisitor {
 public:
  explicit LossFinder(uint32_t stage_family) : stage_family_(stage_family) {}

  Result<> on_record(std::string_view record) override {
    StagePuts puts(stage_family_);
    // A record that RocksDB cannot apply contains no batches for us either.
    rocksdb::WriteBatch(std::string(record)).Iterate(&puts).PermitUncheckedError();
    if (puts.first) set_next(*puts.first);
    if (puts.last) newest_ = puts.last;
    return {};
  }
  Result<> on_damage(const LogRange& range) override {
    losses_.push_back({range, newest_, std::nullopt});
    return {};
  }
  std::vector<LogLoss> take() { return std::move(losses_); }

 private:
  void set_next(const StagedBatch& batch) {
    for (; reported_ < losses_.size(); ++reported_) losses_[reported_].after = batch;
  }

  const uint32_t stage_family_;
  std::optional<StagedBatch> newest_;
  std::vector<LogLoss> losses_;
  size_t reported_ = 0;  // the `after` of losses before this index is known
};

}  // namespace

Result<> truncate_log(rocksdb::Env& env, const std::string& path, uint64_t size) {
  std::unique_ptr<rocksdb::WritableFile> file;
  rocksdb::Status status = env.ReopenWritableFile(path, &file, rocksdb::EnvOptions());
  if (status.ok()) status = file->Truncate(size);
  if (status.ok()) status = file->Sync();
  return status.ok() ? Result<>() : Result<>(disk_error("cut " + path, status));
}

Result<Sha256> copy_intact(rocksdb::Env& env, const std::string& from, const std::string& to) {
  Result<LogWriter> copy = LogWriter::create(env, to);
  if (!copy) return copy.error();
  RecordCopier copier(*copy);
  Result<LogSummary> copied = scan_log(env, from, copier);
  Result<> finished = copied ? copy->finish() : Result<>(copied.error());
  if (finished) return copier.hash();
  env.DeleteFile(to).PermitUncheckedError();
  return finished.error();
}

Result<> replace_by_intact_copy(rocksdb::Env& env, const LogPlaces& places, const std::string& name) {
  constexpr size_t kHashDigits = 16;
  const std::string path = places.store + "/" + name, copy = path + std::string(kCopySuffix);
  Result<Sha256> intact = copy_intact(env, path, copy);
  if (!intact) return intact.error();
  rocksdb::Status status = set_aside(env, path, places.damaged, name + "." + intact->hex().substr(0, kHashDigits));
  if (!status.ok()) return disk_error("set " + path + " aside", status);
  return rename_durably(env, places, copy, path);
}

Result<std::vector<LogState>> scan_logs(rocksdb::Env& env, const std::string& directory) {
  Result<std::vector<LogFile>> files = list_store_logs(env, directory);
  if (!files) return files.error();
  const SyncedLogs synced = SyncedLogs::read(env, directory);
  add_missing(synced, *files);
  std::vector<LogState> logs;
  for (const LogFile& file : *files) {
    NullVisitor ignore;
    Result<LogSummary> found = file.exists ? scan_log(env, directory + "/" + file.name, ignore) : LogSummary();
    if (!found) return found.error();
    if (found->records > 0) {
      for (LogState& earlier : logs) earlier.is_cut_short = earlier.summary.incomplete_from.has_value();
    }
    logs.push_back({file.name, *found});
  }
  for (LogState& log : logs) {
    log.is_missing = is_listed(synced, log.name) && log.summary.records == 0 && !log.is_damaged();
  }
  return logs;
}

Result<> repair_logs(rocksdb::Env& env, const LogPlaces& places) {
  rocksdb::Status deleted = delete_unfinished_copies(env, places.store);
  if (!deleted.ok()) return disk_error("delete unfinished copies of logs", deleted);
  Result<std::vector<LogState>> logs = scan_logs(env, places.store);
  if (!logs) return logs.error();
  if (Result<> marked = mark_missing_logs(env, places, *logs); !marked) return marked;
  for (const LogState& log : *logs) {
    if (Result<> repaired = repair_log(env, places, log); !repaired) return repaired;
  }
  return make_newest_durable(env, places, *logs);
}

Result<std::vector<std::string>> logs_set_aside(rocksdb::Env& env, const LogPlaces& places) {
  Result<std::vector<LogFile>> logs = list_logs(env, places.damaged);
  if (!logs) return logs.error();
  std::vector<std::string> names;
  for (const LogFile& log : *logs) names.push_back(log.name);
  return names;
}

Result<std::vector<LogLoss>> losses_of(rocksdb::Env& env, const std::string& path, uint32_t stage_family, LogEnd end) {
  if (is_missing_mark(path.substr(path.rfind('/') + 1))) return std::vector<LogLoss>(1);
  LossFinder finder(stage_family);
  Result<LogSummary> found = scan_log(env, path, finder);
  if (!found) return found.error();
  if (found->incomplete_from && end == LogEnd::kIsComplete) {
    const LogRange rest{*found->incomplete_from, found->bytes - *found->incomplete_from};
    if (Result<> added = finder.on_damage(rest); !added) return added.error();
  }
  return finder.take();
}

Result<std::optional<StagedBatch>> first_batch_after(rocksdb::Env& env, const LogPlaces& places, const std::string& log,
                                                     uint32_t stage_family) {
  Result<std::vector<LogFile>> logs = list_store_logs(env, places.store);
  if (!logs) return logs.error();
  const std::optional<LogFile> damaged = log_file(log);
  FirstBatch first(stage_family);
  for (const LogFile& later : *logs) {
    if (!damaged || later.number <= damaged->number || first.found) continue;
    Result<LogSummary> scanned = scan_log(env, places.store + "/" + later.name, first);
    if (!scanned) return scanned.error();
  }
  return first.found;
}

}  // namespace fathom::store
