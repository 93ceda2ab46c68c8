#include "store/rocks/upgrade_backup.h"

#include <filesystem>
#include <set>

#include "base/fd.h"
#include "base/lock_holder.h"
#include "base/log.h"
#include "base/replace_file.h"
#include "base/sync_directory.h"
#include "base/time.h"
#include "store/rocks/data_directory.h"
#include "store/rocks/kept_files.h"
#include "store/rocks/upgrade_manifest.h"

namespace fathom::store {

namespace {

namespace fs = std::filesystem;

constexpr const char* kBackup = "/before-upgrade";
constexpr const char* kPartial = "/before-upgrade.partial";
constexpr const char* kReverting = "/reverting";
constexpr const char* kDiscarded = "/before-upgrade.discarded";

Error failed(const std::string& doing, const std::error_code& code) {
  const bool passes = code == std::errc::no_space_on_device;
  return {passes ? ErrorCode::kUnavailable : ErrorCode::kInternal, "cannot " + doing + ": " + code.message()};
}

Result<> step(const AtStep& at_step, const std::string& name) {
  return !at_step || at_step(name) ? Result<>() : Result<>(internal("stopped at " + name));
}

// RocksDB appends to the files of DIR/store, cuts them, or replaces them, except for tables. All other files are large
// and never change, except for the small one of rules.
bool changes(const fs::path& file) {
  const std::string name = file.filename();
  const bool in_store = file.parent_path().filename() == "store";
  return (in_store && !name.ends_with(".sst")) || name == "tracepoint-rules";
}

// Neither data nor part of a state.
bool is_left_out(const fs::path& file) {
  const std::string name = file.filename();
  return name == "LOCK" || name == "LOG" || name.starts_with("LOG.old") || name == "incoming" || name == "drafts";
}

Result<> sync_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.open() && ::fsync(file.get()) == 0 ? Result<>() : Result<>(system_error("cannot sync " + path));
}

Result<> keep_file(const fs::path& from, const fs::path& to) {
  std::error_code code;
  if (changes(from)) {
    fs::copy_file(from, to, code);
    return code ? Result<>(failed("copy " + from.string(), code)) : sync_file(to.string());
  }
  // A copy would take as much room again.
  fs::create_hard_link(from, to, code);
  return code ? Result<>(failed("link " + from.string(), code)) : Result<>();
}

Result<> keep_tree(const fs::path& from, const fs::path& to) {
  std::error_code code;
  if (fs::is_regular_file(from, code)) return keep_file(from, to);
  fs::create_directories(to, code);
  if (code) return failed("create " + to.string(), code);
  fs::directory_iterator entries(from, code);
  if (code) return failed("list " + from.string(), code);
  for (const fs::directory_entry& entry : entries) {
    if (is_left_out(entry.path())) continue;
    if (Result<> kept = keep_tree(entry.path(), to / entry.path().filename()); !kept) return kept;
  }
  return sync_directory(to.string());
}

Result<> remove_tree(const std::string& path) {
  std::error_code code;
  fs::remove_all(path, code);
  return code ? Result<>(failed("remove " + path, code)) : Result<>();
}

Result<> rename_durably(const std::string& path, const std::string& from, const std::string& to) {
  std::error_code code;
  fs::rename(path + from, path + to, code);
  return code ? Result<>(failed("rename " + path + from, code)) : sync_directory(path);
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Error unusable(const std::string& path, const std::string& backup, const Error& reason) {
  if (reason.code == ErrorCode::kUnsupported) return reason;
  std::string message = reason.message + ". Nothing was changed. Restore " + path + backup +
                        " from a copy, or correct its file 'upgrade', in which the line sha256 is optional " +
                        "(docs/formats/data-directory.md)";
  if (backup == kBackup) {
    message += ". Or keep the newer format and delete the backup: fathom-server commit-upgrade " + path;
  }
  return corrupt(message);
}

// Made when the newer part is removed, so that afterwards the part in DIR is the restored one.
std::string removal_mark(const std::string& part) {
  return part + ".removed";
}

// Programs that wrote no hash made no marks. A newer store is recognised by a file that older servers do not write.
bool may_be_restored(const std::string& path, const std::string& part, const UpgradeManifest& manifest) {
  if (!exists(path + "/" + part)) return false;
  if (manifest.has_hash) return exists(path + kReverting + "/" + removal_mark(part));
  return part != "store" || manifest.upgrade.from >= kFirstFormatWithWitnesses || !exists(path + kStoreWitness);
}

// Before the first change nothing is restored. Parts are restored in the order of kUpgradeParts.
Result<> check_parts_of(const std::string& path, const std::string& backup, const UpgradeManifest& manifest) {
  const bool has_begun = backup == kReverting;
  bool is_earlier_kept = false;
  for (const std::string part : kUpgradeParts) {
    const std::string kept = path + backup + "/" + part;
    const bool is_listed = manifest.parts.contains(part);
    if (exists(kept) && !is_listed)
      return corrupt(kept + " exists, but " + path + backup + "/upgrade does not list it");
    if (!is_listed) continue;
    const bool is_restored = has_begun && !is_earlier_kept && may_be_restored(path, part, manifest);
    if (!exists(kept) && !is_restored) return corrupt(kept + " is missing");
    is_earlier_kept |= exists(kept);
  }
  return check_kept_files(path + backup);
}

// What must be true before a revert removes anything.
Result<UpgradeManifest> read_backup(const std::string& path, const std::string& backup) {
  Result<UpgradeManifest> manifest = read_upgrade_manifest(path + backup);
  if (!manifest) return unusable(path, backup, manifest.error());
  Result<> checked = check_parts_of(path, backup, *manifest);
  return checked ? manifest : Result<UpgradeManifest>(unusable(path, backup, checked.error()));
}

Result<> mark_removal(const std::string& path, const std::string& part) {
  const std::string directory = path + kReverting;
  const Fd folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.open()) return system_error("cannot open " + directory);
  return replace_file(folder, removal_mark(part), "");
}

// A name at a time; a name in DIR/reverting is not restored yet.
Result<> restore_part(const std::string& path, const std::string& part, bool was_there) {
  const std::string kept = std::string(kReverting) + "/" + part;
  if (was_there && !exists(path + kept)) return {};
  if (Result<> removed = remove_tree(path + "/" + part); !removed) return removed;
  if (Result<> synced = sync_directory(path); !synced || !was_there) return synced;
  if (Result<> marked = mark_removal(path, part); !marked) return marked;
  return rename_durably(path, kept, "/" + part);
}

}  // namespace

Result<> begin_upgrade(const std::string& path, int from, int to, uint64_t now_unix_nano, const AtStep& at_step) {
  if (Result<> removed = remove_tree(path + kPartial); !removed) return removed;
  if (Result<> committed = commit_upgrade(path); !committed) return committed;
  if (Result<> go_on = step(at_step, "begin"); !go_on) return go_on;
  std::set<std::string> parts;
  std::error_code code;
  fs::create_directory(path + kPartial, code);
  if (code) return failed("create " + path + kPartial, code);
  for (const std::string part : kUpgradeParts) {
    if (!exists(path + "/" + part)) continue;
    if (Result<> kept = keep_tree(path + "/" + part, path + kPartial + "/" + part); !kept) return kept;
    parts.insert(part);
    if (Result<> go_on = step(at_step, "kept " + part); !go_on) return go_on;
  }
  if (Result<> listed = write_kept_files(path + kPartial); !listed) return listed;
  const PendingUpgrade upgrade{.from = from, .to = to, .made_unix_nano = now_unix_nano};
  if (Result<> written = write_upgrade_manifest(path + kPartial, {upgrade, parts}); !written) return written;
  if (Result<> go_on = step(at_step, "manifest"); !go_on) return go_on;
  return rename_durably(path, kPartial, kBackup);
}

bool has_backup(const std::string& path) {
  return exists(path + kBackup);
}

Result<> check_backup(const std::string& path) {
  for (const char* backup : {kBackup, kReverting}) {
    if (!exists(path + backup)) continue;
    if (Result<UpgradeManifest> manifest = read_backup(path, backup); !manifest) return manifest.error();
  }
  return {};
}

std::optional<PendingUpgrade> pending_upgrade(const std::string& path) {
  if (!has_backup(path)) return std::nullopt;
  Result<UpgradeManifest> manifest = read_upgrade_manifest(path + kBackup);
  return manifest ? std::optional(manifest->upgrade) : std::nullopt;
}

Result<> note_running(const std::string& path, uint64_t ran_nano) {
  if (!has_backup(path)) return not_found("there is no upgrade that could be reverted");
  Result<UpgradeManifest> manifest = read_upgrade_manifest(path + kBackup);
  if (!manifest) return manifest.error();
  manifest->upgrade.ran_nano += ran_nano;
  return write_upgrade_manifest(path + kBackup, *manifest);
}

// The rename is the moment of the commit.
Result<> commit_upgrade(const std::string& path) {
  if (!has_backup(path)) return {};
  if (Result<> removed = remove_tree(path + kDiscarded); !removed) return removed;
  if (Result<> renamed = rename_durably(path, kBackup, kDiscarded); !renamed) return renamed;
  return remove_tree(path + kDiscarded);
}

std::string describe_revert(const std::string& path, const PendingUpgrade& upgrade) {
  const std::string made = format_instant(upgrade.made_unix_nano);
  return path + " was upgraded from format " + std::to_string(upgrade.from) + " to " + std::to_string(upgrade.to) +
         " at " + made + ". A revert restores its state of that time, which servers of format " +
         std::to_string(upgrade.from) + " open. Everything received since " + made +
         " is lost: spans, captures, snapshots and tracepoint rules.";
}

bool is_being_reverted(const std::string& path) {
  return exists(path + kReverting);
}

Result<> revert_upgrade(const std::string& path, const AtStep& at_step) {
  if (const auto holder = lock_holder(path + "/store/LOCK")) {
    return unavailable(path + " is in use by " + *holder + "; end that one first");
  }
  if (!is_being_reverted(path) && !has_backup(path)) return not_found(path + " has no upgrade that could be reverted");
  Result<UpgradeManifest> manifest = read_backup(path, is_being_reverted(path) ? kReverting : kBackup);
  if (!manifest) return manifest.error();
  if (!is_being_reverted(path)) {
    if (Result<> renamed = rename_durably(path, kBackup, kReverting); !renamed) return renamed;
    if (Result<> go_on = step(at_step, "reverting"); !go_on) return go_on;
  }
  for (const std::string part : kUpgradeParts) {
    Result<> restored = restore_part(path, part, manifest->parts.contains(part));
    if (!restored) return restored;
    if (Result<> go_on = step(at_step, "restored " + part); !go_on) return go_on;
  }
  // Last: until then older servers refuse the directory for its version, and newer ones for DIR/reverting.
  if (Result<> written = write_version(*rocksdb::Env::Default(), path, manifest->upgrade.from); !written)
    return written;
  if (Result<> go_on = step(at_step, "version"); !go_on) return go_on;
  if (Result<> renamed = rename_durably(path, kReverting, kDiscarded); !renamed) return renamed;
  return remove_tree(path + kDiscarded);
}

void remove_upgrade_leftovers(const std::string& path) {
  for (const char* left : {kPartial, kDiscarded}) {
    if (Result<> removed = remove_tree(path + left); !removed) log_warning(removed.error().message);
  }
}

}  // namespace fathom::store
