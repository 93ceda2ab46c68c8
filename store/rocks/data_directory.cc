#include "store/rocks/data_directory.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>

#include "base/directory_cure.h"
#include "store/clock/clock_keeper.h"
#include "store/rocks/upgrade_backup.h"
#include "store/wal/repair_advice.h"
#include "store/wal/replace_env_file.h"

namespace fathom::store {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNewMark = "new";

// The words of DIR/version.
struct VersionFile {
  bool exists = false;
  std::string number;
  std::string mark;
};

std::string version_path(const std::string& path) {
  return path + "/version";
}

VersionFile read_version(const std::string& path) {
  std::ifstream in(version_path(path));
  VersionFile file{.exists = in.is_open(), .number = {}, .mark = {}};
  in >> file.number >> file.mark;
  return file;
}

Result<bool> has_store(const std::string& path) {
  std::error_code error;
  const bool found = fs::exists(path + "/store/CURRENT", error);
  if (!error) return found;
  return invalid("cannot look for " + path + "/store: " + error.message() + directory_cure(path, error.value()));
}

bool has_file_below(const std::string& path) {
  std::error_code code;
  for (const auto& entry : fs::recursive_directory_iterator(path, code)) {
    std::error_code ignored;
    if (entry.is_regular_file(ignored)) return true;
  }
  return false;
}

// The first part of a data directory that holds data although there is no store.
std::optional<std::string> data_without_store(const std::string& path) {
  for (const char* part : {"captures", "server-snapshots", "store"}) {
    if (has_file_below(path + "/" + part)) return path + "/" + part;
  }
  return std::nullopt;
}

Error missing_store(const std::string& path, const std::string& found) {
  return corrupt(found + " exists, but " + path +
                 "/store holds no store (its file CURRENT is missing); mount the disk of " + path +
                 "/store, run 'fathom store repair " + path +
                 " NEW_DIR' to salvage what is intact, or pass an empty directory with --data");
}

Error missing_version(const std::string& path, int newest) {
  return corrupt(path + "/store exists, but " + version_path(path) +
                 " is missing, so the format of the store is not "
                 "known; restore this file from a backup, or write the number of the format into it (this program "
                 "writes " +
                 std::to_string(newest) + ")");
}

// A directory may name the version to revert to.
std::string revert_hint(const std::string& path) {
  if (!has_backup(path)) return "";
  return "; or revert the upgrade with the newer program: fathom-server revert-upgrade " + path;
}

Error newer_version(const std::string& path, int version, int newest) {
  return {ErrorCode::kUnsupported, path + " was written by a newer fathom (format " + std::to_string(version) +
                                       ", this program reads up to " + std::to_string(newest) +
                                       "); use that version, or another --data directory" + revert_hint(path)};
}

Result<int> parse_version(const std::string& path, const std::string& text) {
  int version = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (fault == std::errc() && end == text.data() + text.size() && version >= 1) return version;
  std::error_code ignored;
  const bool has_store = fs::exists(path + "/store/CURRENT", ignored);
  return corrupt(version_path(path) + " does not hold a version" +
                 (has_store ? repair_advice(path) : "; is " + path + " a data directory?"));
}

int fault_of(const rocksdb::Status& status) {
  if (status.IsNoSpace()) return ENOSPC;
  for (const int fault : {EACCES, EPERM, EROFS}) {
    if (status.ToString().find(std::strerror(fault)) != std::string::npos) return fault;
  }
  return EIO;
}

Result<> make_directory(rocksdb::Env& env, const std::string& path) {
  std::error_code error;
  const bool created = fs::create_directories(path, error);
  int fault = error.value();
  if (created) {
    const rocksdb::Status synced =
        sync_env_directory(env, fs::absolute(path).lexically_normal().parent_path().string());
    fault = synced.ok() ? 0 : fault_of(synced);
  }
  if (fault == 0) return {};
  return invalid("cannot create the data directory " + path + ": " + std::strerror(fault) +
                 directory_cure(path, fault));
}

Result<> replace_version(rocksdb::Env& env, const std::string& path, const std::string& content) {
  const rocksdb::Status status = replace_env_file(env, version_path(path), content);
  if (status.ok()) return {};
  const int fault = fault_of(status);
  const std::string why =
      "cannot write " + version_path(path) + ": " + std::strerror(fault) + directory_cure(path, fault);
  return fault == ENOSPC ? unavailable(why) : invalid(why);
}

Error unfinished_revert(const std::string& path) {
  return corrupt("the upgrade of " + path + " is being reverted; finish that: fathom-server revert-upgrade " + path);
}

Error contradicted_version(const std::string& path, int version, const std::string& witness, int newest) {
  const std::string says = version == 0 ? " is empty" : " says format " + std::to_string(version);
  return corrupt(version_path(path) + says + ", but only servers of format " +
                 std::to_string(kFirstFormatWithWitnesses) + " and newer write " + witness + ", so " +
                 version_path(path) + " is damaged. Write the number of the format into it (this program writes " +
                 std::to_string(newest) + "): echo " + std::to_string(newest) + " > " + version_path(path) +
                 "; or salvage the directory: fathom store repair " + path + " NEW_DIR");
}

// Without a number: a first start, or an older server that was interrupted while it raised the version.
Result<DirectoryFormat> check_without_number(const std::string& path, const VersionFile& file, int newest) {
  Result<bool> stored = has_store(path);
  if (!stored) return stored.error();
  if (*stored && !file.exists) return missing_version(path, newest);
  if (*stored) {
    Result<> checked = check_witnesses(path, 0, newest);
    return checked ? DirectoryFormat{} : Result<DirectoryFormat>(checked.error());
  }
  if (auto found = data_without_store(path)) return missing_store(path, *found);
  return DirectoryFormat{.version = newest, .is_new = true};
}

}  // namespace

// An upgrade writes a first clock before it writes the version.
Result<> check_witnesses(const std::string& path, int version, int newest) {
  if (version >= kFirstFormatWithWitnesses) return {};
  for (const char* witness : kWitnesses) {
    std::error_code ignored;
    const bool is_begun = std::string_view(witness) == "/clock" && has_first_clock(path);
    if (is_begun || !fs::exists(path + witness, ignored)) continue;
    return contradicted_version(path, version, path + witness, newest);
  }
  return {};
}

// Every other content of DIR/version is damage, which a repair does not need.
Result<> check_repairable(const std::string& path, int newest) {
  if (is_being_reverted(path)) return unfinished_revert(path);
  Result<int> version = parse_version(path, read_version(path).number);
  return version && *version > newest ? Result<>(newer_version(path, *version, newest)) : Result<>();
}

Result<DirectoryFormat> check_data_directory(rocksdb::Env& env, const std::string& path, int newest) {
  if (Result<> made = make_directory(env, path); !made) return made.error();
  if (is_being_reverted(path)) return unfinished_revert(path);
  const VersionFile file = read_version(path);
  if (file.number.empty()) return check_without_number(path, file, newest);
  Result<int> version = parse_version(path, file.number);
  if (!version) return version.error();
  if (*version > newest) return newer_version(path, *version, newest);
  if (Result<> checked = check_witnesses(path, *version, newest); !checked) return checked.error();
  const bool is_new = file.mark == kNewMark;
  Result<bool> stored = has_store(path);
  if (!stored) return stored.error();
  if (!is_new && !*stored) return missing_store(path, version_path(path));
  return DirectoryFormat{.version = *version, .is_new = is_new};
}

Result<> begin_first_start(rocksdb::Env& env, const std::string& path, int version) {
  return replace_version(env, path, std::to_string(version) + " " + std::string(kNewMark) + "\n");
}

Result<> write_version(rocksdb::Env& env, const std::string& path, int version) {
  return replace_version(env, path, std::to_string(version) + "\n");
}

}  // namespace fathom::store
