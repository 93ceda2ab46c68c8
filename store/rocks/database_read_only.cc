// Database::open_read_only(): opens a data directory without changing it.
#include <algorithm>
#include <cstdarg>
#include <utility>

#include "store/rocks/database.h"
#include "store/rocks/database_options.h"

namespace fathom::store {

namespace {

// RocksDB creates its own log file unless it is given a logger.
class SilentLogger : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

// Directories of format 5 and older have no families of captures.
bool may_be_missing(Family family) {
  return family == Family::kCapture || family == Family::kCaptureIndex;
}

}  // namespace

Result<std::unique_ptr<Database>> Database::open_read_only(
    const RocksOptions& options, const std::shared_ptr<const LivePartitions>& live_partitions) {
  std::unique_ptr<Database> database(new Database(options.path));
  DatabaseOptions all = database_options(options, live_partitions);
  all.whole.info_log = std::make_shared<SilentLogger>();
  all.whole.paranoid_checks = false;  // a damaged file must not hide the others
  all.whole.wal_recovery_mode = rocksdb::WALRecoveryMode::kAbsoluteConsistency;
  for (size_t i = 0; i < kFamilies; ++i) database->options_[i] = rocksdb::Options(all.whole, all.families[i].options);
  const std::string path = options.path + "/store";
  std::vector<std::string> names;
  rocksdb::Status status = rocksdb::DB::ListColumnFamilies(all.whole, path, &names);
  std::vector<rocksdb::ColumnFamilyDescriptor> stored;
  std::vector<Family> opened;
  for (size_t i = 0; i < kFamilies; ++i) {
    const Family family = static_cast<Family>(i);
    if (may_be_missing(family) && std::ranges::find(names, all.families[i].name) == names.end()) continue;
    stored.push_back(all.families[i]);
    opened.push_back(family);
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  if (status.ok()) status = rocksdb::DB::OpenForReadOnly(all.whole, path, stored, &handles, &db);
  if (!status.ok()) return from_status(status, "open " + path + " for reading");
  database->db_.reset(db);
  for (size_t i = 0; i < opened.size(); ++i) database->handles_[static_cast<size_t>(opened[i])] = handles[i];
  return database;
}

}  // namespace fathom::store
