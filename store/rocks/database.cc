#include "store/rocks/database.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <rocksdb/compaction_filter.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/sst_partitioner.h>
#include <rocksdb/table.h>

#include "base/directory_cure.h"
#include "base/lock_holder.h"
#include "base/log.h"
#include "base/thread_priority.h"
#include "base/time.h"
#include "store/rocks/block_cuts.h"
#include "store/rocks/data_directory.h"
#include "store/rocks/disk_space.h"
#include "store/rocks/keys.h"
#include "store/rocks/merge_operators.h"
#include "store/rocks/upgrade_backup.h"
#include "store/rocks/upgrade_keeper.h"

namespace fathom::store {

namespace {

constexpr int kFormatVersion = 6;
constexpr std::array<const char*, kFamilies> kFamilyNames = {
    "default", "stage",   "identity", "operation", "segment", "block",        "trace",
    "slow",    "latency", "straddle", "corrected", "capture", "capture_index"};

// Which partition a row belongs to, where its key begins with it.
uint32_t partition_in_front(std::string_view key) {
  return keys::partition_of(key);
}
uint32_t partition_of_trace_row(std::string_view key) {
  keys::TracePlace place;
  return keys::parse_trace(key, place) ? place.partition : UINT32_MAX;
}
using PartitionOf = uint32_t (*)(std::string_view);

// Rows of dropped partitions that lie in files with others disappear when compaction meets them; readers never ask for
// them.
class DroppedPartitionFilter : public rocksdb::CompactionFilter {
 public:
  DroppedPartitionFilter(std::shared_ptr<const LivePartitions> live, PartitionOf partition_of)
      : live_(std::move(live)), partition_of_(partition_of) {}
  const char* Name() const override { return "fathom.DroppedPartitionFilter"; }
  bool Filter(int, const rocksdb::Slice& key, const rocksdb::Slice&, std::string*, bool*) const override {
    return dropped(key);
  }
  bool FilterMergeOperand(int, const rocksdb::Slice& key, const rocksdb::Slice&) const override { return dropped(key); }

 private:
  bool dropped(const rocksdb::Slice& key) const { return !live_->is_live(partition_of_({key.data(), key.size()})); }

  std::shared_ptr<const LivePartitions> live_;
  PartitionOf partition_of_;
};

class DroppedPartitionFilterFactory : public rocksdb::CompactionFilterFactory {
 public:
  DroppedPartitionFilterFactory(std::shared_ptr<const LivePartitions> live, PartitionOf partition_of)
      : live_(std::move(live)), partition_of_(partition_of) {}
  const char* Name() const override { return "fathom.DroppedPartitionFilterFactory"; }
  std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(
      const rocksdb::CompactionFilter::Context&) override {
    return std::make_unique<DroppedPartitionFilter>(live_, partition_of_);
  }

 private:
  std::shared_ptr<const LivePartitions> live_;
  PartitionOf partition_of_;
};

// Merges files of like size. An ingestion into such a family never depends on what its compactions do (ingestion.cc).
void tune_universal(rocksdb::Options& family) {
  family.compaction_style = rocksdb::kCompactionStyleUniversal;
  family.level0_file_num_compaction_trigger = 6;
  family.compaction_options_universal.size_ratio = 20;
}

// For families of which every segment brings a small file over the whole range of keys: merging files of like size
// writes a row a few times; keeping levels would write all of the family again for every few segments.
void tune_overlapping(rocksdb::Options& family, const std::shared_ptr<const LivePartitions>& live,
                      PartitionOf partition_of) {
  tune_universal(family);
  family.compression = rocksdb::kZSTD;
  family.target_file_size_base = 32 << 20;
  family.compaction_filter_factory = std::make_shared<DroppedPartitionFilterFactory>(live, partition_of);
}

// The manners of RocksDB's threads. A full disk is our own business: maintenance sees when there is room and resumes at
// once, where RocksDB's own recovery would try every few seconds and be in the way meanwhile. What it notes of a fault:
// see may_ingest().
class FaultListener : public rocksdb::EventListener {
 public:
  explicit FaultListener(std::shared_ptr<std::atomic<bool>> stopped) : stopped_(std::move(stopped)) {}
  // Compaction yields to requests, but not to everything: a search is as fast as compaction keeps up.
  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override { yield_to_requests(); }
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* status) override {
    if (status->severity() >= rocksdb::Status::Severity::kHardError) stopped_->store(true);
  }
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* auto_recovery) override {
    *auto_recovery = false;
  }

 private:
  std::shared_ptr<std::atomic<bool>> stopped_;
};

rocksdb::BlockBasedTableOptions table_options(const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.block_size = 16 << 10;
  table.format_version = 5;
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  return table;
}

// Every segment has a file of its own for as long as it lives, and a query for any hour reads any of them: opening one
// anew costs more than the query. What else the process may open keeps as many descriptors again.
int open_files() {
  constexpr uint64_t kEnough = 8192;  // a billion spans
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 512;
  return static_cast<int>(std::min<uint64_t>(kEnough, limit.rlim_cur / 2));
}

// A limit of size is for logs too, and they must leave most of it to what is sealed.
uint64_t most_log_bytes(const RocksOptions& options) {
  constexpr uint64_t kMost = 256 << 20, kLeast = 2 << 20;
  return options.retention_bytes == 0 ? kMost : std::clamp(options.retention_bytes / 8, kLeast, kMost);
}

rocksdb::Options base_options(const RocksOptions& options) {
  rocksdb::Options db;
  if (options.env != nullptr) db.env = options.env;
  db.create_if_missing = true;
  db.create_missing_column_families = true;
  db.max_background_jobs = 2;
  db.max_open_files = open_files();
  db.max_total_wal_size = most_log_bytes(options);
  db.keep_log_file_num = 2;
  db.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  db.write_buffer_size = 4 << 20;
  db.compression = rocksdb::kNoCompression;
  // Several families are ingested only; their files are few and need no early warnings.
  db.level0_slowdown_writes_trigger = 64;
  db.level0_stop_writes_trigger = 256;
  return db;
}

void tune_stage(rocksdb::Options& family) {
  // Big enough that most batches are sealed, and their rows deleted, before a flush writes them a second time.
  family.write_buffer_size = 32 << 20;
  family.max_write_buffer_number = 3;
}

void tune_identity(rocksdb::Options& family, rocksdb::BlockBasedTableOptions& table) {
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  family.memtable_whole_key_filtering = true;
  family.memtable_prefix_bloom_size_ratio = 0.05;
}

void tune_trace(rocksdb::Options& family, rocksdb::BlockBasedTableOptions& table) {
  family.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(keys::kTracePrefix));
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.whole_key_filtering = false;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.pin_top_level_index_and_filter = true;
}

// Families whose keys begin with a partition: files never cross one, so that a partition is dropped by deleting files.
void tune_partitioned(rocksdb::Options& family) {
  family.sst_partitioner_factory = rocksdb::NewSstPartitionerFixedPrefixFactory(8);
}

rocksdb::Options family_options(Family which, const RocksOptions& options, const std::shared_ptr<rocksdb::Cache>& cache,
                                const std::shared_ptr<const LivePartitions>& live) {
  rocksdb::Options family = base_options(options);
  rocksdb::BlockBasedTableOptions table = table_options(cache);
  switch (which) {
    case Family::kStage:
      tune_stage(family);
      break;
    case Family::kIdentity:
      tune_identity(family, table);
      break;
    case Family::kTrace:
      tune_overlapping(family, live, partition_of_trace_row);
      tune_trace(family, table);
      break;
    case Family::kSegment:
    case Family::kStraddle:
      tune_universal(family);
      break;
    case Family::kBlock:
      tune_partitioned(family);
      // Files never overlap and no row is deleted. RocksDB would write each file again only to clear its sequence
      // number, and an ingestion could come between the steps of that compaction.
      family.disable_auto_compactions = true;
      // A visit of a block is one read: the index of its file, some 10 KB per segment, stays in memory.
      table.cache_index_and_filter_blocks = false;
      table.flush_block_policy_factory = make_block_cuts({keys::kChunkBlockPrefix, 32 << 10});
      break;
    case Family::kSlow:
      tune_overlapping(family, live, partition_in_front);
      tune_partitioned(family);
      family.merge_operator = make_slow_list_merge();
      break;
    case Family::kLatency:
      tune_overlapping(family, live, partition_in_front);
      tune_partitioned(family);
      family.merge_operator = make_latency_cell_merge();
      break;
    default:
      break;
  }
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return family;
}

Result<> make_ingest_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path + "/ingest", error);
  return error ? Result<>(invalid("cannot create " + path + "/ingest: " + error.message())) : Result<>();
}

// What a crash left between writing a file and ingesting it belongs to nobody, once the directory is ours alone.
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

Error open_error(const rocksdb::Status& status, const std::string& path) {
  bool forbidden = status.ToString().find("Permission denied") != std::string::npos;
  if (status.IsIOError() && !forbidden && status.ToString().find("lock") != std::string::npos) {
    return in_use(path, "another process");
  }
  Error error = from_status(status, "open " + path);
  if (forbidden) error.message += directory_cure(path, EACCES);
  // Only a lock that is held and a disk that is full pass by themselves.
  if (status.IsIOError() && !status.IsNoSpace()) error.code = ErrorCode::kInvalid;
  return error;
}

// Holds RocksDB's lock, because another process may have the store open.
Result<> repair_logs_alone(rocksdb::Env& env, const std::string& path) {
  const LogPlaces places = log_places(path);
  if (env.FileExists(places.store + "/CURRENT").IsNotFound()) return {};
  rocksdb::FileLock* lock = nullptr;
  rocksdb::Status status = env.LockFile(places.store + "/LOCK", &lock);
  if (!status.ok()) return open_error(status, path);
  Result<> repaired = repair_logs(env, places);
  env.UnlockFile(lock).PermitUncheckedError();
  return repaired;
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
    begun =
        begin_upgrade(path, from, kFormatVersion, options.now_unix_nano ? options.now_unix_nano() : now_unix_nano());
    env.UnlockFile(lock).PermitUncheckedError();
  }
  const std::string upgrade =
      "the upgrade of " + path + " from format " + std::to_string(from) + " to " + std::to_string(kFormatVersion);
  if (!begun) return log_warning(upgrade + " cannot be reverted: " + begun.error().message);
  log_info(upgrade + " can be reverted until it is committed: fathom-server revert-upgrade " + path);
}

// An older directory gets the new version before the store is opened: older servers cannot read what is written from
// then on.
Result<DirectoryFormat> prepare_directory(rocksdb::Env& env, const RocksOptions& options) {
  const std::string& path = options.path;
  Result<DirectoryFormat> format = check_data_directory(env, path, kFormatVersion);
  if (!format) return format;
  remove_upgrade_leftovers(path);
  Result<> written;
  if (format->is_new) {
    written = begin_first_start(env, path, kFormatVersion);
  } else if (format->version != kFormatVersion) {
    if (format->version != 0) back_up_alone(env, options, format->version);
    written = write_version(env, path, kFormatVersion);
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
                                                 std::shared_ptr<const LivePartitions> live_partitions) {
  // Asked first: RocksDB would put the other one's log file aside each time that it is refused.
  if (auto holder = lock_holder(options.path + "/store/LOCK")) return in_use(options.path, *holder);
  std::unique_ptr<Database> database(new Database(options.path));
  // On a full disk there are queries at least.
  database->ballast_.throw_off_if_full();
  rocksdb::Options whole = base_options(options);
  Result<DirectoryFormat> format = prepare_directory(*whole.env, options);
  if (!format) return format.error();
  std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(options.cache_bytes, 4, false, 0.7);
  Families families;
  for (size_t i = 0; i < kFamilies; ++i) {
    database->options_[i] = family_options(static_cast<Family>(i), options, cache, live_partitions);
    families.emplace_back(kFamilyNames[i], database->options_[i]);
  }
  Handles handles;
  rocksdb::DB* db = nullptr;
  whole.listeners = {std::make_shared<FaultListener>(database->stopped_)};
  whole.avoid_flush_during_recovery = true;
  // repair_logs() has removed incomplete and damaged records, so RocksDB must not find any.
  whole.wal_recovery_mode = rocksdb::WALRecoveryMode::kAbsoluteConsistency;
  if (Result<> repaired = repair_logs_alone(*whole.env, options.path); !repaired) return repaired.error();
  rocksdb::Status status = open_families(whole, options.path + "/store", families, &handles, &db);
  if (!status.ok()) return open_error(status, options.path);
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
  for (rocksdb::ColumnFamilyHandle* handle : handles_) db_->DestroyColumnFamilyHandle(handle);
  db_->Close();
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

void Database::measure_log() {
  rocksdb::Env* env = db_->GetEnv();
  std::vector<std::string> files;
  if (!env->GetChildren(db_->GetName(), &files).ok()) return;
  uint64_t total = 0;
  for (const std::string& file : files) {
    uint64_t bytes = 0;
    // One that is gone meanwhile takes nothing.
    if (file.ends_with(".log") && env->GetFileSize(db_->GetName() + "/" + file, &bytes).ok()) total += bytes;
  }
  log_bytes_.store(total, std::memory_order_relaxed);
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
