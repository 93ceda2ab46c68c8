#include "store/wal/manifest_repair.h"

#include <algorithm>
#include <functional>

#include "base/bytes.h"
#include "base/log.h"
#include "store/wal/log_block.h"
#include "store/wal/manifest_size.h"
#include "store/wal/witness_files.h"

namespace fathom::store {

namespace {

constexpr std::string_view kManifestPrefix = "MANIFEST-";

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
  Result<> on_damage(const LogRange& range) override {
    if (!first) first = range.offset;
    return {};
  }

  std::optional<uint64_t> first;
};

// A file that ends within what was synced is damaged, too.
Result<> judge_by_size(rocksdb::Env& env, const std::optional<uint64_t>& damage, uint64_t synced,
                       ManifestState& state) {
  uint64_t size = 0;
  rocksdb::Status status = env.GetFileSize(state.path, &size);
  if (!status.ok()) return unavailable("cannot inspect " + state.path + ": " + status.ToString());
  const uint64_t readable = damage ? *damage : state.summary.incomplete_from.value_or(size);
  if (readable < synced) state.damaged_from = readable;
  if (readable >= synced && readable < size) state.unsynced_from = readable;
  return {};
}

Result<> judge_alone(rocksdb::Env& env, const std::string& store, const std::optional<uint64_t>& damage,
                     ManifestState& state) {
  state.damaged_from = damage;
  const std::optional<uint64_t> incomplete = state.summary.incomplete_from;
  if (damage || !incomplete) return {};
  if (!damaged_witnesses(env, store).empty()) {
    state.damaged_from = incomplete;  // the disk is known to have damaged what would tell
    return {};
  }
  Result<bool> torn = is_torn(env, state.path, *incomplete);
  if (!torn) return torn.error();
  (*torn ? state.unsynced_from : state.damaged_from) = incomplete;
  return {};
}

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
      return corrupt(places.store + " has data (" + name + ") but no file CURRENT");
    }
  }
  return {};
}

Result<std::string> current_manifest(rocksdb::Env& env, const std::string& store) {
  std::string name;
  rocksdb::Status status = rocksdb::ReadFileToString(&env, store + "/CURRENT", &name);
  if (!status.ok()) return corrupt("cannot read " + store + "/CURRENT: " + status.ToString());
  const bool is_name = name.starts_with(kManifestPrefix) && name.ends_with('\n');
  if (!is_name) return corrupt(store + "/CURRENT does not name a manifest");
  name.pop_back();
  if (!env.FileExists(store + "/" + name).ok()) {
    return corrupt("CURRENT names " + store + "/" + name + ", which is missing");
  }
  return store + "/" + name;
}

Result<ManifestState> scan_manifest(rocksdb::Env& env, const std::string& store) {
  Result<std::string> path = current_manifest(env, store);
  if (!path) return path.error();
  FirstDamage damage;
  Result<LogSummary> found = scan_log(env, *path, damage);
  if (!found) return found.error();
  ManifestState state{*path, *found, std::nullopt, std::nullopt};
  const std::string name = path->substr(store.size() + 1);
  const std::optional<uint64_t> synced = ManifestSizes::read(env, store).synced_bytes(name);
  Result<> judged =
      synced ? judge_by_size(env, damage.first, *synced, state) : judge_alone(env, store, damage.first, state);
  return judged ? Result<ManifestState>(std::move(state)) : judged.error();
}

std::vector<std::string> list_manifests(rocksdb::Env& env, const std::string& store) {
  std::vector<std::string> names;
  env.GetChildren(store, &names).PermitUncheckedError();
  std::erase_if(names, [](const std::string& name) { return !is_manifest_name(name); });
  // RocksDB writes at least six digits.
  std::ranges::sort(names, std::ranges::greater(),
                    [](const std::string& name) { return std::pair(name.size(), name); });
  return names;
}

Result<> repair_manifest(rocksdb::Env& env, const LogPlaces& places) {
  for (const std::string& path : damaged_witnesses(env, places.store)) {
    log_error(path + " is damaged; if the disk also lost the end of the manifest or a log, nothing else tells");
  }
  Result<ManifestState> found = scan_manifest(env, places.store);
  if (!found) return found.error();
  if (found->damaged_from) {
    return corrupt("the manifest " + found->path + " is damaged at byte " + std::to_string(*found->damaged_from));
  }
  if (found->unsynced_from) {
    log_info("the end of " + found->path + " was never synced; it is cut off");
    if (Result<> cut = truncate_log(env, found->path, *found->unsynced_from); !cut) return cut;
  }
  if (!found->summary.corrected) return {};
  Result<> replaced = replace_by_intact_copy(env, places, {.name = found->path.substr(places.store.size() + 1)});
  if (!replaced) return replaced;
  log_error("the manifest " + found->path +
            " had a wrong bit in a header, which was corrected; the damaged file was moved to " + places.damaged);
  return {};
}

}  // namespace fathom::store
