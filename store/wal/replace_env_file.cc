#include "store/wal/replace_env_file.h"

#include <memory>

namespace fathom::store {

rocksdb::Status replace_env_file(rocksdb::Env& env, const std::string& path, const std::string& content) {
  const std::string fresh = path + ".new";
  rocksdb::Status status = rocksdb::WriteStringToFile(&env, content, fresh, /*should_sync=*/true);
  if (status.ok()) status = env.RenameFile(fresh, path);
  return status.ok() ? sync_env_directory(env, path.substr(0, path.rfind('/'))) : status;
}

rocksdb::Status make_env_directory(rocksdb::Env& env, const std::string& path) {
  const rocksdb::Status status = env.CreateDirIfMissing(path);
  return status.ok() ? sync_env_directory(env, path.substr(0, path.rfind('/'))) : status;
}

rocksdb::Status sync_env_directory(rocksdb::Env& env, const std::string& path) {
  std::unique_ptr<rocksdb::Directory> directory;
  rocksdb::Status status = env.NewDirectory(path, &directory);
  return status.ok() ? directory->Fsync() : status;
}

}  // namespace fathom::store
