#include "store/wal/witness_files.h"

#include "store/wal/hash_line.h"

namespace fathom::store {

std::vector<std::string> damaged_witnesses(rocksdb::Env& env, const std::string& store) {
  std::vector<std::string> damaged;
  for (const char* name : {"manifest-size", "synced-logs"}) {
    const std::string path = store + "/" + name;
    if (env.FileExists(path).IsNotFound()) continue;
    std::string bytes;
    const bool is_read = rocksdb::ReadFileToString(&env, path, &bytes).ok();
    if (!is_read || !ends_with_hash_line(bytes)) damaged.push_back(path);
  }
  return damaged;
}

}  // namespace fathom::store
