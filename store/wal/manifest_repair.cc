#include "store/wal/manifest_repair.h"

#include <optional>

#include "base/log.h"

namespace fathom::store {

namespace {

// Finds damage that an intact record follows. Other damage can be the rest of a change that a power cut interrupted.
class InnerDamageFinder : public LogVisitor {
 public:
  Result<> on_record(std::string_view) override {
    found_ = found_ || last_.has_value();
    return {};
  }
  Result<> on_damage(const LogRange& range) override {
    last_ = range;
    return {};
  }
  std::optional<LogRange> found() const { return found_ ? last_ : std::nullopt; }

 private:
  std::optional<LogRange> last_;
  bool found_ = false;
};

// The file that CURRENT names; empty if there is none. RocksDB reports a missing or unreadable CURRENT itself.
std::string manifest_name(rocksdb::Env& env, const std::string& store) {
  std::string name;
  if (!rocksdb::ReadFileToString(&env, store + "/CURRENT", &name).ok()) return "";
  if (!name.starts_with("MANIFEST-") || !name.ends_with('\n')) return "";
  name.pop_back();
  return env.FileExists(store + "/" + name).ok() ? name : "";
}

}  // namespace

Result<> repair_manifest(rocksdb::Env& env, const LogPlaces& places) {
  const std::string name = manifest_name(env, places.store);
  if (name.empty()) return {};
  const std::string path = places.store + "/" + name;
  InnerDamageFinder damage;
  Result<LogSummary> found = scan_log(env, path, damage);
  if (!found) return found.error();
  if (damage.found()) {
    return corrupt("the manifest " + path + " is damaged near byte " + std::to_string(damage.found()->offset) +
                   "; restore the data directory from a backup");
  }
  // RocksDB ignores an incomplete end: nothing depends on a change that was not synced.
  if (!found->corrected || found->damages > 0) return {};
  log_error("the manifest " + path + " had a wrong bit; it is moved to " + places.damaged +
            " and replaced by a corrected copy");
  return replace_log(env, places, name);
}

}  // namespace fathom::store
