#include "store/wal/replace_env_file.h"

#include <memory>

namespace fathom::store {

namespace {

std::string directory_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

rocksdb::Status copy_content(rocksdb::Env& env, const std::string& from, const std::string& to) {
  constexpr size_t kPieceBytes = 1 << 20;
  std::unique_ptr<rocksdb::SequentialFile> in;
  std::unique_ptr<rocksdb::WritableFile> out;
  rocksdb::Status status = env.NewSequentialFile(from, &in, rocksdb::EnvOptions());
  if (status.ok()) status = env.NewWritableFile(to, &out, rocksdb::EnvOptions());
  std::string room(kPieceBytes, '\0');
  rocksdb::Slice piece;
  do {
    if (status.ok()) status = in->Read(kPieceBytes, &piece, room.data());
    if (status.ok()) status = out->Append(piece);
  } while (status.ok() && !piece.empty());
  return status.ok() ? out->Sync() : status;
}

// The copy has its name when it is complete.
rocksdb::Status copy_file(rocksdb::Env& env, const std::string& from, const std::string& to) {
  const std::string fresh = to + ".new";
  rocksdb::Status status = copy_content(env, from, fresh);
  if (status.ok()) return env.RenameFile(fresh, to);
  env.DeleteFile(fresh).PermitUncheckedError();
  return status;
}

}  // namespace

rocksdb::Status replace_env_file(rocksdb::Env& env, const std::string& path, const std::string& content) {
  const std::string fresh = path + ".new";
  rocksdb::Status status = rocksdb::WriteStringToFile(&env, content, fresh, /*should_sync=*/true);
  if (status.ok()) status = env.RenameFile(fresh, path);
  return status.ok() ? sync_env_directory(env, directory_of(path)) : status;
}

rocksdb::Status make_env_directory(rocksdb::Env& env, const std::string& path) {
  const rocksdb::Status status = env.CreateDirIfMissing(path);
  return status.ok() ? sync_env_directory(env, directory_of(path)) : status;
}

rocksdb::Status link_or_copy(rocksdb::Env& env, const std::string& from, const std::string& to) {
  if (env.FileExists(to).ok()) return sync_env_directory(env, directory_of(to));
  rocksdb::Status status = env.LinkFile(from, to);
  if (!status.ok()) status = copy_file(env, from, to);
  return status.ok() ? sync_env_directory(env, directory_of(to)) : status;
}

rocksdb::Status move_env_file(rocksdb::Env& env, const std::string& from, const std::string& to) {
  if (env.RenameFile(from, to).ok()) return rocksdb::Status::OK();
  rocksdb::Status status = copy_file(env, from, to);
  if (status.ok()) status = sync_env_directory(env, directory_of(to));
  return status.ok() ? env.DeleteFile(from) : status;
}

rocksdb::Status sync_env_directory(rocksdb::Env& env, const std::string& path) {
  std::unique_ptr<rocksdb::Directory> directory;
  rocksdb::Status status = env.NewDirectory(path, &directory);
  return status.ok() ? directory->Fsync() : status;
}

}  // namespace fathom::store
