#include "store/rocks/database.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <utility>

#include <rocksdb/convenience.h>

#include "base/directory_cure.h"
#include "base/lock_holder.h"
#include "base/log.h"
#include "base/time.h"
#include "store/clock/clock_keeper.h"
#include "store/rocks/data_directory.h"
#include "store/rocks/database_options.h"
#include "store/rocks/disk_space.h"
#include "store/rocks/info_log_guard.h"
#include "store/rocks/keys.h"
#include "store/rocks/upgrade_backup.h"
#include "store/rocks/upgrade_keeper.h"
#include "store/wal/log_files.h"
#include "store/wal/manifest_repair.h"
#include "store/wal/repair_advice.h"

namespace fathom::store {

namespace {

constexpr int kFormatVersion = 7;

Result<> make_ingest_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path + "/ingest", error);
  return error ? Result<>(invalid("cannot create " + path + "/ingest: " + error.message())) : Result<>();
}

// Removes files that a crash left between their creation and their ingestion. Call it while the store is locked: then
// no process uses them.
void remove_leftovers(const std::string& path) {
  std::error_code error;
  for (const auto& left : std::filesystem::directory_iterator(path + "/ingest", error)) {
    std::filesystem::remove(left.path(), error);
  }
}

Error in_use(const std::string& path, const std::string& holder) {
  return unavailable("the data directory " + path + " is in use by " + holder +
                     "; one server at a time can: end that one, or choose another --data directory");
}

// RocksDB has no code for a lock that another process, or this one, holds.
bool is_lock_held(const rocksdb::Status& status) {
  const std::string text = status.ToString();
  return status.IsIOError() &&
         (text.find("lock file") != std::string::npos || text.find("lock hold") != std::string::npos);
}

Error open_error(const rocksdb::Status& status, const std::string& path) {
  bool forbidden = status.ToString().find("Permission denied") != std::string::npos;
  if (!forbidden && is_lock_held(status)) return in_use(path, "another process");
  Error error = from_status(status, "open " + path);
  if (forbidden) error.message += directory_cure(path, EACCES);
  if (status.IsNoSpace()) error.message += " (" + free_space_text(path) + "); delete other files on this disk";
  // Only a lock that is held and a disk that is full pass by themselves.
  if (status.IsIOError() && !status.IsNoSpace()) error.code = ErrorCode::kInvalid;
  return error;
}

// Holds RocksDB's lock, because another process may have the store open.
Result<LogRepair> repair_logs_alone(rocksdb::Env& env, const std::string& path) {
  const LogPlaces places = log_places(path);
  if (env.FileExists(places.store + "/CURRENT").IsNotFound()) {
    Result<> checked = check_without_current(env, places);
    return checked ? Result<LogRepair>(LogRepair()) : checked.error();
  }
  rocksdb::FileLock* lock = nullptr;
  rocksdb::Status status = env.LockFile(places.store + "/LOCK", &lock);
  if (!status.ok()) return open_error(status, path);
  const Result<> manifest = repair_manifest(env, places);
  Result<LogRepair> logs = manifest ? repair_logs(env, places) : manifest.error();
  env.UnlockFile(lock).PermitUncheckedError();
  return logs;
}

// The backup must not cost the start: without room for it, or on a file system without hard links, there is none.
void back_up_alone(rocksdb::Env& env, const RocksOptions& options, int from) {
  const std::string& path = options.path;
  const std::string lock_path = path + "/store/LOCK";
  rocksdb::FileLock* lock = nullptr;
  Result<> begun;
  const std::optional<DiskSpace> space = measure_disk(env, path, options.reserve_disk_bytes);
  if (space && !has_room_for_backup(*space)) {
    begun = unavailable("the disk is nearly full");
  } else if (rocksdb::Status locked = env.LockFile(lock_path, &lock); !locked.ok()) {
    begun = unavailable(locked.ToString());
  } else {
    begun = begin_upgrade(path, from, kFormatVersion, options.read_clocks().wall_unix_nano);
    env.UnlockFile(lock).PermitUncheckedError();
  }
  const std::string upgrade =
      "the upgrade of " + path + " from format " + std::to_string(from) + " to " + std::to_string(kFormatVersion);
  if (!begun) return log_warning(upgrade + " cannot be reverted: " + begun.error().message);
  log_info(upgrade + " can be reverted until it is committed: fathom-server revert-upgrade " + path);
}

// An older directory gets the new version before the store is opened: older servers cannot read what is written from
// then on. The clock is written before the version, because a directory of this version without a clock is damaged.
Result<DirectoryFormat> prepare_directory(rocksdb::Env& env, const RocksOptions& options) {
  const std::string& path = options.path;
  Result<DirectoryFormat> format = check_data_directory(env, path, kFormatVersion);
  if (!format) return format;
  remove_upgrade_leftovers(path);
  Result<> written;
  if (format->is_new) {
    written = begin_first_start(env, path, kFormatVersion);
    if (written) written = write_first_clock(env, path);
  } else if (format->version != kFormatVersion) {
    if (format->version != 0) back_up_alone(env, options, format->version);
    if (format->version < kFirstVersionWithClock) written = write_first_clock(env, path);
    if (written) written = write_version(env, path, kFormatVersion);
  }
  if (written) written = make_ingest_directory(path);
  return written ? format : Result<DirectoryFormat>(written.error());
}

using Families = std::vector<rocksdb::ColumnFamilyDescriptor>;
using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;

// RocksDB writes a file of options for each family that Open() creates, which takes most of a first start, and one file
// for all that CreateColumnFamilies() creates. A store whose creation was interrupted is completed by Open().
rocksdb::Status create_families(const rocksdb::Options& options, const std::string& path, const Families& families,
                                Handles* handles, rocksdb::DB** db) {
  rocksdb::Status status = rocksdb::DB::Open(options, path, {families.front()}, handles, db);
  if (!status.ok()) return status;
  Handles created;
  status = (*db)->CreateColumnFamilies({families.begin() + 1, families.end()}, &created);
  handles->insert(handles->end(), created.begin(), created.end());
  if (status.ok()) return status;
  for (rocksdb::ColumnFamilyHandle* handle : *handles) (*db)->DestroyColumnFamilyHandle(handle);
  delete std::exchange(*db, nullptr);
  return status;
}

rocksdb::Status open_families(const rocksdb::Options& options, const std::string& path, const Families& families,
                              Handles* handles, rocksdb::DB** db) {
  const bool is_new = options.env->FileExists(path + "/CURRENT").IsNotFound();
  return is_new ? create_families(options, path, families, handles, db)
                : rocksdb::DB::Open(options, path, families, handles, db);
}

}  // namespace

int newest_format_version() {
  return kFormatVersion;
}

LogPlaces log_places(const std::string& path) {
  return {path + "/store", path + "/damaged"};
}

Error from_status(const rocksdb::Status& status, const std::string& doing) {
  std::string message = "cannot " + doing + ": " + status.ToString();
  if (status.IsCorruption()) return corrupt(message);
  if (status.IsNotFound()) return not_found(message);
  if (status.IsIOError() || status.IsNoSpace() || status.IsBusy() || status.IsTryAgain() || status.IsIncomplete()) {
    return unavailable(message);
  }
  return internal(message);
}

Result<std::unique_ptr<Database>> Database::open(const RocksOptions& options,
                                                 const std::shared_ptr<const LivePartitions>& live_partitions) {
  // Asked first: RocksDB would put the other one's log file aside each time that it is refused.
  if (auto holder = lock_holder(options.path + "/store/LOCK")) return in_use(options.path, *holder);
  std::unique_ptr<Database> database(new Database(options.path));
  // On a full disk there are queries at least.
  database->ballast_.throw_off_if_full();
  DatabaseOptions all = database_options(options, live_partitions);
  rocksdb::Options& whole = all.whole;
  database->env_ = std::make_unique<GuardedEnv>(*whole.env, options.durability == Durability::kFsync);
  whole.env = database->env_.get();
  Result<DirectoryFormat> format = prepare_directory(*whole.env, options);
  if (!format) return format.error();
  whole.max_total_wal_size = database->log_limit_ = log_limit(*whole.env, options);
  for (size_t i = 0; i < kFamilies; ++i) database->options_[i] = rocksdb::Options(whole, all.families[i].options);
  Handles handles;
  rocksdb::DB* db = nullptr;
  whole.listeners = {make_fault_listener(database->faults_)};
  whole.avoid_flush_during_recovery = true;
  // repair_logs() has removed incomplete and damaged records, so RocksDB must not find any.
  whole.wal_recovery_mode = rocksdb::WALRecoveryMode::kAbsoluteConsistency;
  const Result<LogRepair> repaired = repair_logs_alone(*whole.env, options.path);
  if (!repaired) return with_repair_advice(repaired.error(), options.path);
  database->log_was_cut_ = repaired->was_cut;
  remove_old_info_logs(*whole.env, options.path + "/store");
  rocksdb::Status status = open_families(whole, options.path + "/store", all.families, &handles, &db);
  if (!status.ok()) return with_repair_advice(open_error(status, options.path), options.path);
  database->db_.reset(db);
  remove_leftovers(options.path);
  std::copy(handles.begin(), handles.end(), database->handles_.begin());
  if (format->is_new) {
    if (Result<> finished = write_version(*whole.env, options.path, kFormatVersion); !finished) return finished.error();
  }
  return database;
}

Database::~Database() {
  if (!db_) return;
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    if (handle != nullptr) db_->DestroyColumnFamilyHandle(handle);
  }
  // Before it unlocks the directory for the next process.
  note_synced_logs();
  db_->Close();
}

Result<> Database::check_not_stopped() const {
  if (may_ingest()) return {};
  return unavailable(
      "the disk failed under RocksDB; stored spans are safe and readable, and sealing goes on when the store is opened "
      "again");
}

Error Database::why_stopped() const {
  const std::string damage = faults_->damage();
  if (damage.empty()) return unavailable("a fault of the disk has stopped RocksDB; only opening the store again helps");
  return with_repair_advice(corrupt("damage to stored data has stopped RocksDB: " + damage), path_);
}

// Only where there was a fault: Resume() would also take back a stop that comes at the same moment.
rocksdb::Status Database::resume() {
  if (!faults_->paused.exchange(false)) return rocksdb::Status::OK();
  rocksdb::Status status = db_->Resume();
  if (!status.ok()) faults_->paused = true;
  return status;
}

void Database::note_synced_logs() {
  if (env_) env_->log_witness().note_synced_bytes(log_places(path_).store);
}

rocksdb::Status Database::sync_log() {
  rocksdb::WriteBatch nothing;
  nothing.PutLogData("");
  rocksdb::WriteOptions options;
  options.sync = true;
  return db_->Write(options, &nothing);
}

rocksdb::Status Database::flush() {
  std::lock_guard lock(changing_files_);
  return db_->Flush(rocksdb::FlushOptions(), {handles_.begin(), handles_.end()});
}

rocksdb::Status Database::flush(const std::vector<Family>& families) {
  std::lock_guard lock(changing_files_);
  Handles handles;
  for (Family which : families) handles.push_back(family(which));
  return db_->Flush(rocksdb::FlushOptions(), handles);
}

Result<> Database::make_small_room() {
  constexpr uint64_t kSmallRoomBytes = 512 << 10;
  ballast_.throw_off_for(kSmallRoomBytes);
  uint64_t free = 0;
  if (!db_->GetEnv()->GetFreeSpace(path_, &free).ok() || free >= kSmallRoomBytes) return {};
  return unavailable("the disk of " + path_ + " is full: " + std::to_string(free) +
                     " bytes are free, and retention needs " + std::to_string(kSmallRoomBytes) +
                     " to free more; delete another file on this disk");
}

uint64_t Database::flush_bytes(uint64_t stage_bytes) {
  constexpr uint64_t kOverhead = 256 << 10;
  uint64_t total = stage_bytes + kOverhead;
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    if (handle == family(Family::kStage)) continue;
    uint64_t bytes = 0;
    db_->GetIntProperty(handle, rocksdb::DB::Properties::kCurSizeAllMemTables, &bytes);
    total += bytes;
  }
  return total;
}

uint64_t Database::unmerged_files(Family family) {
  // GetIntProperty() does not know this property and would leave the result as it is.
  std::string text;
  uint64_t files = 0;
  db_->GetProperty(this->family(family), rocksdb::DB::Properties::kNumFilesAtLevelPrefix + "0", &text);
  std::from_chars(text.data(), text.data() + text.size(), files);
  return files;
}

uint64_t Database::disk_bytes() {
  return sum_and_log(rocksdb::DB::Properties::kTotalSstFilesSize);
}

uint64_t Database::disk_bytes_in_use() {
  return sum_and_log(rocksdb::DB::Properties::kLiveSstFilesSize);
}

uint64_t Database::file_bytes(Family family) {
  uint64_t bytes = 0;
  db_->GetIntProperty(this->family(family), rocksdb::DB::Properties::kLiveSstFilesSize, &bytes);
  return bytes;
}

uint64_t Database::sum_and_log(const std::string& property) {
  uint64_t total = log_bytes_.load(std::memory_order_relaxed);
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    uint64_t bytes = 0;
    db_->GetIntProperty(handle, property, &bytes);
    total += bytes;
  }
  return total;
}

void Database::limit_log(uint64_t bytes) {
  if (std::exchange(log_limit_, bytes) == bytes) return;
  rocksdb::Status status = db_->SetDBOptions({{"max_total_wal_size", std::to_string(bytes)}});
  if (!status.ok()) log_warning("cannot limit the size of the log: " + status.ToString());
}

void Database::measure_log() {
  log_bytes_.store(bytes_of_logs(*db_->GetEnv(), db_->GetName()), std::memory_order_relaxed);
}

rocksdb::Status Database::compact(Family family) {
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  options.exclusive_manual_compaction = false;  // sealing counts on RocksDB's own going on
  return db_->CompactRange(options, this->family(family), nullptr, nullptr);
}

uint64_t Database::rows(Family family) {
  uint64_t rows = 0;
  db_->GetIntProperty(this->family(family), rocksdb::DB::Properties::kEstimateNumKeys, &rows);
  return rows;
}

rocksdb::Status Database::delete_files(Family family, const std::string& begin, const std::string& end) {
  const rocksdb::Slice first(begin), last(end);
  const rocksdb::RangePtr range(&first, &last);
  std::lock_guard lock(changing_files_);
  return rocksdb::DeleteFilesInRanges(db_.get(), this->family(family), &range, 1, /*include_end=*/false);
}

std::string Database::ingest_path(std::string_view name) const {
  return path_ + "/ingest/" + std::string(name) + ".sst";
}

}  // namespace fathom::store
