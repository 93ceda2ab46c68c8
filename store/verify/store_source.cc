#include "store/verify/store_source.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/text.h"
#include "store/rocks/database_options.h"
#include "store/rocks/info_log_guard.h"
#include "store/rocks/keys.h"
#include "store/rocks/sorted_file_guard.h"
#include "store/verify/log_replay.h"

namespace fathom::store {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kCacheBytes = 32 << 20;

Result<> check_is_directory(const std::string& path) {
  std::error_code error;
  if (fs::exists(path + "/version", error) || fs::is_directory(path + "/store", error)) return {};
  return invalid(path + " is not a data directory: it has neither a file 'version' nor a directory 'store'");
}

// `only`: the names of files; empty: all.
Result<> link_sorted_files(const std::string& from, const std::string& to, const std::set<std::string>& only) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(from, error)) {
    if (entry.path().extension() != ".sst") continue;
    if (!only.empty() && !only.contains(entry.path().filename())) continue;
    std::error_code fault;
    fs::create_symlink(fs::absolute(entry.path()), fs::path(to) / entry.path().filename(), fault);
    if (fault) return internal("cannot link " + entry.path().string() + " in " + to + ": " + fault.message());
  }
  return {};
}

// Nothing is compacted: that would copy the sorted files.
DatabaseOptions still_options(const RocksOptions& settings, const std::shared_ptr<LivePartitions>& live) {
  DatabaseOptions options = database_options(settings, live);
  options.whole.disable_auto_compactions = true;
  for (rocksdb::ColumnFamilyDescriptor& family : options.families) {
    family.options.disable_auto_compactions = true;
    family.options.level0_slowdown_writes_trigger = std::numeric_limits<int>::max();
    family.options.level0_stop_writes_trigger = std::numeric_limits<int>::max();
  }
  return options;
}

// `from`: where the logs are.
Result<> replay_into(const std::string& path, const DatabaseOptions& options, const std::string& from,
                     const std::vector<LogState>& logs) {
  std::vector<rocksdb::ColumnFamilyHandle*> families;
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options.whole, path, options.families, &families, &opened);
  if (!status.ok()) return from_status(status, "open " + path);
  const std::unique_ptr<rocksdb::DB> db(opened);
  Result<> replayed = replay_logs(from, logs, *db, families);
  for (rocksdb::ColumnFamilyHandle* family : families) db->DestroyColumnFamilyHandle(family);
  return replayed;
}

}  // namespace

StoreSource::StoreSource(std::string path, DirectoryLock lock)
    : path_(std::move(path)),
      lock_(std::move(lock)),
      files_(std::make_shared<ReadOnlyFiles>(rocksdb::FileSystem::Default())),
      env_(rocksdb::NewCompositeEnv(std::make_shared<SortedFileGuard>(files_))),
      rebuilt_env_(rocksdb::NewCompositeEnv(
          std::make_shared<SortedFileGuard>(std::make_shared<InfoLogGuard>(rocksdb::FileSystem::Default())))),
      manifest_(scan_manifest(*env_, log_places(path_).store)) {}

StoreSource::~StoreSource() {
  database_.reset();
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

Result<std::unique_ptr<StoreSource>> StoreSource::open(const std::string& path) {
  if (Result<> checked = check_is_directory(path); !checked) return checked.error();
  Result<DirectoryLock> lock = DirectoryLock::acquire(path);
  if (!lock) return lock.error();
  std::unique_ptr<StoreSource> source(new StoreSource(path, std::move(*lock)));
  if (Result<> scanned = source->find_logs(); !scanned) return scanned.error();
  return source;
}

Result<> StoreSource::find_logs() {
  Result<std::vector<LogState>> logs = scan_logs(*env_, log_places(path_).store);
  if (!logs) return logs.error();
  logs_ = std::move(*logs);
  return {};
}

Result<std::vector<LogLoss>> StoreSource::losses_of_log(const LogState& log) {
  const uint32_t stage = database_ ? database_->family(Family::kStage)->GetID() : static_cast<uint32_t>(Family::kStage);
  if (log.is_missing) return loss_of_missing(log, stage);
  // The damage is in the file itself, not in the copy that RocksDB reads.
  return losses_of(*rocksdb::Env::Default(), log_places(path_).store + "/" + log.name, log.range, stage,
                   {.may_be_incomplete = !log.is_cut_short, .missing_bytes = log.missing_bytes});
}

Result<std::vector<LogLoss>> StoreSource::loss_of_missing(const LogState& log, uint32_t stage) const {
  Result<std::optional<StagedBatch>> later =
      first_batch_after(*rocksdb::Env::Default(), log_places(path_), log.name, stage);
  if (!later) return later.error();
  return std::vector<LogLoss>{{.range = {0, log.summary.end}, .before = std::nullopt, .after = *later}};
}

Result<std::string> StoreSource::temporary_path(const std::string& name) {
  if (temporary_.empty()) {
    std::error_code error;
    std::string pattern = (fs::temp_directory_path(error) / "fathom-store-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) return system_error("cannot make a temporary directory " + pattern);
    temporary_ = pattern;
  }
  return temporary_ + "/" + name;
}

// Reads the log itself, also if a copy replaces it already.
Result<> StoreSource::copy_damaged(const LogState& log) {
  const std::string path = log_places(path_).store + "/" + log.name;
  Result<std::string> copy = temporary_path(log.name);
  if (!copy) return copy.error();
  Result<Sha256> copied = copy_intact(*rocksdb::Env::Default(), path, *copy, log.misplaced);
  if (!copied) return copied.error();
  files_->replace(path, *copy);
  return {};
}

Result<> StoreSource::copy_corrected_headers() {
  Result<std::string> copy = temporary_path(fs::path(manifest_->path).filename());
  if (!copy) return copy.error();
  Result<Sha256> copied = copy_intact(*rocksdb::Env::Default(), manifest_file(), *copy);
  if (!copied) return copied.error();
  files_->replace(manifest_->path, *copy);
  return {};
}

Result<> StoreSource::copy_synced_manifest() {
  Result<std::string> copy = temporary_path(fs::path(manifest_->path).filename());
  if (!copy) return copy.error();
  std::error_code error;
  fs::copy_file(manifest_file(), *copy, fs::copy_options::overwrite_existing, error);
  if (!error) fs::resize_file(*copy, *manifest_->unsynced_from, error);
  if (error) return unavailable("cannot copy " + manifest_file() + ": " + error.message());
  files_->replace(manifest_->path, *copy);
  return {};
}

RocksOptions StoreSource::database_settings(const std::string& path) const {
  RocksOptions options;
  options.path = path;
  options.env = env_.get();
  options.cache_bytes = kCacheBytes;
  return options;
}

Result<> StoreSource::open_database() {
  if (!manifest_) return manifest_.error();
  if (manifest_->damaged_from) {
    return corrupt("the manifest " + manifest_->path + " is damaged at byte " +
                   std::to_string(*manifest_->damaged_from));
  }
  if (manifest_->unsynced_from) {
    if (Result<> copied = copy_synced_manifest(); !copied) return copied;
  } else if (manifest_->summary.corrected) {
    if (Result<> copied = copy_corrected_headers(); !copied) return copied;
  }
  for (const LogState& log : logs_) {
    if (log.summary.is_whole()) continue;
    if (Result<> copied = copy_damaged(log); !copied) return copied;
  }
  Result<std::unique_ptr<Database>> opened = Database::open_read_only(database_settings(path_), live_);
  if (!opened) return opened.error();
  database_ = std::move(*opened);
  return {};
}

Result<> StoreSource::rebuild_database(const std::string& scratch) {
  const std::set<std::string> live = live_files();
  database_.reset();
  const std::string from = log_places(path_).store, to = log_places(scratch).store;
  std::error_code error;
  fs::remove_all(scratch, error);
  if (!fs::create_directories(to, error)) return internal("cannot make " + to + ": " + error.message());
  if (Result<> linked = link_sorted_files(from, to, live); !linked) return linked;
  RocksOptions settings = database_settings(scratch);
  settings.env = rebuilt_env_.get();
  const DatabaseOptions options = still_options(settings, live_);
  const rocksdb::Status status = rocksdb::RepairDB(to, options.whole, options.families);
  if (!status.ok()) return from_status(status, "make a manifest of the intact files of " + from);
  if (Result<> replayed = replay_into(to, options, from, logs_); !replayed) return replayed;
  Result<std::unique_ptr<Database>> opened = Database::open_read_only(settings, live_);
  if (!opened) return opened.error();
  database_ = std::move(*opened);
  return {};
}

std::set<std::string> StoreSource::live_files() const {
  std::vector<rocksdb::LiveFileMetaData> files;
  if (database_) database_->db().GetLiveFilesMetaData(&files);
  std::set<std::string> names;
  for (const rocksdb::LiveFileMetaData& file : files) names.insert(file.relative_filename);
  return names;
}

std::vector<std::string> StoreSource::sorted_files() const {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(log_places(path_).store, error)) {
    if (entry.path().extension() == ".sst") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

std::string at_byte(const std::string& file, const LogRange& range) {
  return file + ", " + plural(range.bytes, "byte") + " at " + std::to_string(range.offset);
}

std::string place_of_loss(const LogState& log, const LogLoss& loss) {
  return log.is_missing ? log.name : at_byte(log.name, loss.range);
}

std::string reason_of_loss(const LogState& log) {
  return log.is_missing ? "the log is missing or empty, but acknowledged records were synced to it"
                        : "records there cannot be read";
}

}  // namespace fathom::store
