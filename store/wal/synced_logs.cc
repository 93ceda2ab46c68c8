#include "store/wal/synced_logs.h"

#include <algorithm>
#include <sstream>

#include "store/wal/hash_line.h"
#include "store/wal/log_files.h"
#include "store/wal/manifest_size.h"
#include "store/wal/replace_env_file.h"

namespace fathom::store {

namespace {

std::string synced_logs_path(const std::string& store) {
  return store + "/synced-logs";
}

}  // namespace

SyncedLogs SyncedLogs::read(rocksdb::Env& env, const std::string& store) {
  std::string bytes;
  if (!rocksdb::ReadFileToString(&env, synced_logs_path(store), &bytes).ok()) return {};
  SyncedLogs found;
  std::vector<std::string> manifests;
  std::istringstream in(bytes);
  for (std::string word; in >> word;) {
    if (is_manifest_name(word)) manifests.push_back(word);
    if (auto log = whole_number(word)) found.add(*log);
  }
  const bool is_current = std::ranges::find(manifests, current_manifest_name(env, store)) != manifests.end();
  return is_current && found.text(manifests) == bytes ? found : SyncedLogs();
}

rocksdb::Status SyncedLogs::remove_file(rocksdb::Env& env, const std::string& store) {
  rocksdb::Status status = env.DeleteFile(synced_logs_path(store));
  return status.ok() || status.IsNotFound() || status.IsPathNotFound() ? sync_env_directory(env, store) : status;
}

rocksdb::Status SyncedLogs::write(rocksdb::Env& env, const std::string& store, const std::string& next) const {
  std::vector<std::string> manifests;
  for (const std::string& name : {current_manifest_name(env, store), next}) {
    if (!name.empty()) manifests.push_back(name);
  }
  return replace_env_file(env, synced_logs_path(store), text(manifests));
}

std::string SyncedLogs::text(const std::vector<std::string>& manifests) const {
  std::string lines;
  for (const std::string& manifest : manifests) lines += manifest + "\n";
  for (const uint64_t number : numbers_) lines += std::to_string(number) + "\n";
  return lines + hash_line(lines);
}

}  // namespace fathom::store
