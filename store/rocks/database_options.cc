#include "store/rocks/database_options.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <utility>

#include <rocksdb/compaction_filter.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/sst_partitioner.h>
#include <rocksdb/table.h>

#include "base/thread_priority.h"
#include "store/rocks/block_cuts.h"
#include "store/rocks/database.h"
#include "store/rocks/keys.h"
#include "store/rocks/merge_operators.h"

namespace fathom::store {

namespace {

constexpr uint64_t kMostLogBytes = 256 << 20;
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

// Lowers the priority of compaction and records background errors, which may_ingest() reads. It disables RocksDB's own
// recovery from a full disk, which retries every few seconds and interferes meanwhile. Maintenance checks for free
// space and resumes RocksDB at once.
class FaultListener : public rocksdb::EventListener {
 public:
  explicit FaultListener(std::shared_ptr<DatabaseFaults> faults) : faults_(std::move(faults)) {}
  // Compaction yields to requests, but not to everything: a search is as fast as compaction keeps up.
  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override { yield_to_requests(); }
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* status) override {
    const bool is_hard = status->severity() >= rocksdb::Status::Severity::kHardError;
    if (status->IsCorruption()) note_damage(*status);
    (is_hard ? faults_->stopped : faults_->paused) = true;
  }
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* auto_recovery) override {
    *auto_recovery = false;
  }

 private:
  void note_damage(const rocksdb::Status& status) {
    std::lock_guard lock(faults_->mutex);
    if (faults_->first_damage.empty()) faults_->first_damage = status.ToString();
  }

  std::shared_ptr<DatabaseFaults> faults_;
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

rocksdb::Options base_options(const RocksOptions& options) {
  rocksdb::Options db;
  if (options.env != nullptr) db.env = options.env;
  db.create_if_missing = true;
  db.create_missing_column_families = true;
  db.max_background_jobs = 2;
  db.max_open_files = open_files();
  db.max_total_wal_size = kMostLogBytes;
  db.keep_log_file_num = 2;
  db.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  db.write_buffer_size = 4 << 20;
  db.compression = rocksdb::kNoCompression;
  // Several families are ingested only; their files are few and need no early warnings.
  db.level0_slowdown_writes_trigger = 64;
  db.level0_stop_writes_trigger = 256;
  return db;
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

}  // namespace

// RocksDB begins a log and flushes several families each time that the limit is reached, so it has a lower bound. A
// flush writes at most what the write buffers hold. A reserve of kLargeReserve has space for that.
uint64_t most_log_bytes(uint64_t retention_bytes, uint64_t reserve_bytes) {
  constexpr uint64_t kLeast = 2 << 20, kLargeReserve = 128 << 20;
  uint64_t most = kMostLogBytes;
  if (retention_bytes != 0) most = std::min(most, retention_bytes / 8);
  if (reserve_bytes != 0 && reserve_bytes < kLargeReserve) most = std::min(most, reserve_bytes / 8);
  return std::max(most, kLeast);
}

DatabaseOptions database_options(const RocksOptions& options, const std::shared_ptr<const LivePartitions>& live) {
  const std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(options.cache_bytes, 4, false, 0.7);
  DatabaseOptions all{base_options(options), {}};
  for (size_t i = 0; i < kFamilies; ++i) {
    all.families.emplace_back(kFamilyNames[i], family_options(static_cast<Family>(i), options, cache, live));
  }
  return all;
}

std::shared_ptr<rocksdb::EventListener> make_fault_listener(std::shared_ptr<DatabaseFaults> faults) {
  return std::make_shared<FaultListener>(std::move(faults));
}

}  // namespace fathom::store
