#include "store/wal/manifest_repair.h"

#include <algorithm>
#include <vector>

#include "base/bytes.h"
#include "base/log.h"
#include "store/wal/log_block.h"

namespace fathom::store {

namespace {

constexpr std::string_view kManifestPrefix = "MANIFEST-";

std::string repair_advice(const std::string& store) {
  const std::string directory = store.substr(0, store.rfind('/'));
  return "; run 'fathom store repair " + directory + " NEW_DIR' to salvage what is intact";
}

Result<bool> is_data(rocksdb::Env& env, const std::string& path) {
  if (path.ends_with(".sst")) return true;
  if (!path.ends_with(".log")) return false;
  uint64_t bytes = 0;
  rocksdb::Status status = env.GetFileSize(path, &bytes);
  if (!status.ok()) return unavailable("cannot inspect " + path + ": " + status.ToString());
  return bytes > 0;
}

// Whether a fragment of a log begins there, wholly and with the right checksum.
bool is_fragment(std::string_view bytes) {
  if (bytes.size() < kFragmentHeaderBytes) return false;
  ByteReader in(bytes);
  const uint32_t checksum = in.u32();
  const size_t length = in.fixed<uint16_t>();
  const uint8_t type = in.u8();
  const std::string_view payload = in.raw(length);
  if (in.failed() || type < static_cast<uint8_t>(FragmentType::kFull) ||
      type > static_cast<uint8_t>(FragmentType::kLast)) {
    return false;
  }
  return checksum == fragment_checksum(static_cast<FragmentType>(type), payload);
}

// Nothing follows a record that a crash left incomplete. Intact fragments behind it prove that its length is damaged.
Result<bool> is_torn(rocksdb::Env& env, const std::string& path, uint64_t incomplete_from) {
  std::string bytes;
  rocksdb::Status status = rocksdb::ReadFileToString(&env, path, &bytes);
  if (!status.ok()) return unavailable("cannot read " + path + ": " + status.ToString());
  for (uint64_t at = incomplete_from + 1; at < bytes.size(); ++at) {
    if (is_fragment(std::string_view(bytes).substr(at))) return false;
  }
  return true;
}

class FirstDamage : public LogVisitor {
 public:
  Result<> on_record(std::string_view) override { return {}; }
  Result<> on_damage(const LogRange& range) override {
    if (!first) first = range;
    return {};
  }

  std::optional<LogRange> first;
};

}  // namespace

Result<> check_without_current(rocksdb::Env& env, const LogPlaces& places) {
  std::vector<std::string> names;
  rocksdb::Status status = env.GetChildren(places.store, &names);
  if (status.IsNotFound()) return {};
  if (!status.ok()) return unavailable("cannot list " + places.store + ": " + status.ToString());
  for (const std::string& name : names) {
    Result<bool> data = is_data(env, places.store + "/" + name);
    if (!data) return data.error();
    if (*data) {
      return corrupt(places.store + " has data (" + name + ") but no file CURRENT" + repair_advice(places.store));
    }
  }
  return {};
}

Result<std::string> current_manifest(rocksdb::Env& env, const std::string& store) {
  std::string name;
  rocksdb::Status status = rocksdb::ReadFileToString(&env, store + "/CURRENT", &name);
  if (!status.ok()) return corrupt("cannot read " + store + "/CURRENT: " + status.ToString());
  const bool is_name = name.starts_with(kManifestPrefix) && name.ends_with('\n');
  if (!is_name) return corrupt(store + "/CURRENT does not name a manifest" + repair_advice(store));
  name.pop_back();
  if (!env.FileExists(store + "/" + name).ok()) {
    return corrupt("CURRENT names " + store + "/" + name + ", which is missing" + repair_advice(store));
  }
  return store + "/" + name;
}

Result<ManifestState> scan_manifest(rocksdb::Env& env, const std::string& store) {
  Result<std::string> path = current_manifest(env, store);
  if (!path) return path.error();
  FirstDamage damage;
  Result<LogSummary> found = scan_log(env, *path, damage);
  if (!found) return found.error();
  if (found->incomplete_from && !damage.first) {
    Result<bool> torn = is_torn(env, *path, *found->incomplete_from);
    if (!torn) return torn.error();
    if (!*torn) damage.first = LogRange{*found->incomplete_from, kFragmentHeaderBytes};
  }
  return ManifestState{*path, *found, damage.first};
}

Result<> repair_manifest(rocksdb::Env& env, const LogPlaces& places) {
  Result<ManifestState> found = scan_manifest(env, places.store);
  if (!found) return found.error();
  if (found->first_damage) {
    return corrupt("the manifest " + found->path + " is damaged at byte " +
                   std::to_string(found->first_damage->offset) + repair_advice(places.store));
  }
  // RocksDB handles an incomplete last record correctly: it was never synced.
  if (!found->summary.corrected) return {};
  log_error("the manifest " + found->path +
            " had a wrong bit in a header, which is corrected; the damaged file is moved to " + places.damaged);
  return replace_by_intact_copy(env, places, found->path.substr(places.store.size() + 1));
}

}  // namespace fathom::store
