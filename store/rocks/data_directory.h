// DataDirectory: the files beside the store that say whether a server may open a data directory.
//
// Purpose: DIR/version names the format of the directory. A directory that is incomplete is refused, because RocksDB
// would create an empty store in it, and the start would then delete the captures that no row names any more.
// docs/formats/data-directory.md has the layout. Thread safety: the owner of the directory, one thread. Errors:
// kUnsupported (written by a newer version) and kCorrupt (incomplete or damaged): a restart does not help; kInvalid:
// the directory cannot be read or written. Each message names the fix.
#pragma once

#include <array>
#include <string>

#include <rocksdb/env.h>

#include "base/result.h"

namespace fathom::store {

struct DirectoryFormat {
  int version = 0;      // 0: an older server was interrupted while it wrote the version
  bool is_new = false;  // the first start has not finished; nothing was acknowledged yet
};

// Files that only servers of format 7 and newer write, and only after DIR/version says so. A revert removes them before
// it writes an older version. Beside them, an older version is damage.
inline constexpr int kFirstFormatWithWitnesses = 7;
inline constexpr const char* kStoreWitness = "/store/manifest-size";
inline constexpr std::array kWitnesses = {kStoreWitness, "/clock"};
// kCorrupt: the directory has a file that servers of format `version` do not write. 0: DIR/version is empty.
Result<> check_witnesses(const std::string& path, int version, int newest);

// Changes nothing: whether a repair may read the directory. kUnsupported: a newer program wrote it; kCorrupt: a revert
// of its upgrade is not finished.
Result<> check_repairable(const std::string& path, int newest);

// Creates the directory when it is missing. `newest` is the newest format that this program reads.
Result<DirectoryFormat> check_data_directory(rocksdb::Env& env, const std::string& path, int newest);

// Both replace DIR/version atomically and durably. The first one marks a directory whose store may be missing.
Result<> begin_first_start(rocksdb::Env& env, const std::string& path, int version);
Result<> write_version(rocksdb::Env& env, const std::string& path, int version);

}  // namespace fathom::store
