#include "store/wal/synced_logs.h"

#include <algorithm>
#include <optional>
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
  for (std::string line; std::getline(in, line);)
    is_manifest_name(line) ? manifests.push_back(line) : found.read_line(line);
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
  for (const auto& [log, bytes] : bytes_) {
    lines += std::to_string(log) + (bytes > 0 ? " " + std::to_string(bytes) : "") + "\n";
  }
  return lines + hash_line(lines);
}

// Other lines make another text, which read() rejects.
void SyncedLogs::read_line(const std::string& line) {
  const size_t space = std::min(line.find(' '), line.size());
  const std::optional<uint64_t> log = whole_number(line.substr(0, space));
  const std::optional<uint64_t> bytes = space < line.size() ? whole_number(line.substr(space + 1)) : 0;
  if (log && bytes) add(*log, *bytes);
}

std::set<uint64_t> SyncedLogs::numbers() const {
  std::set<uint64_t> numbers;
  for (const auto& [log, bytes] : bytes_) numbers.insert(log);
  return numbers;
}

uint64_t SyncedLogs::synced_bytes(uint64_t log) const {
  const auto found = bytes_.find(log);
  return found == bytes_.end() ? 0 : found->second;
}

}  // namespace fathom::store
