// ManifestSizes: how many bytes of RocksDB's manifests were synced.
//
// Purpose: a crash may leave anything behind the last sync of the manifest, because a disk reorders writes; damage in
// front of it costs sorted files. Only this record of the size tells the two apart. DIR/store/manifest-size holds it
// for the last manifest and for the one that CURRENT names, because CURRENT names a new manifest only after that is
// synced (docs/formats/data-directory.md). Thread safety: none. Units: bytes. Errors: a missing or damaged file knows
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/env.h>

namespace fathom::store {

class ManifestSizes {
 public:
  // `store`: where RocksDB keeps its manifests.
  static ManifestSizes read(rocksdb::Env& env, const std::string& store);

  std::optional<uint64_t> synced_bytes(const std::string& manifest) const;
  // The manifest that was set last comes first.
  std::vector<std::string> manifests() const;
  void set(const std::string& manifest, uint64_t synced_bytes);
  // Forgets all but `current`, which may be empty, and the manifest that was set last.
  void keep(const std::string& current);
  rocksdb::Status write(rocksdb::Env& env, const std::string& store) const;

 private:
  std::string text() const;

  std::vector<std::pair<std::string, uint64_t>> sizes_;  // the manifest that was set last comes last
};

// MANIFEST- and a number.
bool is_manifest_name(std::string_view name);
// The manifest that CURRENT names; empty if CURRENT is missing or damaged.
std::string current_manifest_name(rocksdb::Env& env, const std::string& store);

}  // namespace fathom::store
