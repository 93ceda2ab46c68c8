#include "store/verify/files_check.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include <rocksdb/sst_file_reader.h>

#include "base/text.h"
#include "store/rocks/data_directory.h"
#include "store/rocks/keys.h"
#include "store/rocks/upgrade_backup.h"
#include "store/wal/witness_files.h"

namespace fathom::store {

namespace {

constexpr const char* kSortedFiles = "sorted files";
constexpr const char* kBackup = "upgrade backup";

// The keys of these families begin with the partition and the segment.
std::string rows_of(const rocksdb::LiveFileMetaData& file) {
  const std::string& family = file.column_family_name;
  if (family != "block" && family != "segment") return "family " + family;
  const std::string_view key = file.smallestkey;
  if (key.size() < 12) return "family " + family;
  return "family " + family + ", from segment " + std::to_string(load_be32(key.data() + 8)) + " of partition " +
         std::to_string(keys::partition_of(key));
}

class SortedFiles {
 public:
  SortedFiles(StoreSource& source, Findings& findings) : source_(source), findings_(findings) {}

  void check(const rocksdb::LiveFileMetaData& file) {
    const std::string path = file.db_path + file.name;
    const std::string place = path + " (" + rows_of(file) + ")";
    uint64_t bytes = 0;
    const rocksdb::Status status = source_.env().GetFileSize(path, &bytes);
    findings_.checked(kSortedFiles);
    if (!status.ok()) {
      damaged(place, "the file is missing: " + status.ToString());
    } else if (bytes != file.size) {
      damaged(place, "the file has " + plural(bytes, "byte") + " instead of " + group_digits(file.size));
    } else {
      check_blocks(path, place, options_of(file.column_family_name));
    }
    findings_.read_bytes(file.size);
  }

  void check_unlisted(const std::string& path) {
    findings_.checked(kSortedFiles);
    rocksdb::Options options;
    options.env = &source_.env();
    check_blocks(path, path, options);
  }

 private:
  rocksdb::Options options_of(const std::string& family) {
    for (size_t i = 0; i < kFamilies; ++i) {
      Database& database = source_.database();
      const Family one = static_cast<Family>(i);
      if (database.has(one) && database.family(one)->GetName() == family) return database.file_options(one);
    }
    rocksdb::Options options;
    options.env = &source_.env();
    return options;
  }

  void check_blocks(const std::string& path, const std::string& place, const rocksdb::Options& options) {
    rocksdb::SstFileReader reader(options);
    rocksdb::Status status = reader.Open(path);
    if (status.ok()) status = reader.VerifyChecksum();
    if (!status.ok()) damaged(place, status.ToString());
  }

  void damaged(const std::string& place, const std::string& reason) {
    findings_.damaged({kSortedFiles, place, reason});
  }

  StoreSource& source_;
  Findings& findings_;
};

std::vector<rocksdb::LiveFileMetaData> live_files(StoreSource& source) {
  std::vector<rocksdb::LiveFileMetaData> files;
  source.database().db().GetLiveFilesMetaData(&files);
  return files;
}

Affected affected_by(const LogLoss& loss) {
  Affected affected;
  TimeRange received;
  if (loss.before) received.from_unix_nano = loss.before->received_unix_nano;
  if (loss.after) received.to_unix_nano = loss.after->received_unix_nano;
  if (loss.before || loss.after) affected.received = received;
  return affected;
}

// Nothing: not a number of a format.
std::optional<int> version_of(const std::string& text) {
  int version = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), version);
  const bool is_number = fault == std::errc() && end == text.data() + text.size() && version >= 1;
  return is_number ? std::optional(version) : std::nullopt;
}

std::optional<std::string> damage_of_version(const std::string& path, const std::string& text,
                                             std::optional<int> version) {
  if (text.empty()) return "the file is missing or empty";
  if (!version) return "the file holds no version number";
  const Result<> checked = check_witnesses(path, *version, newest_format_version());
  return checked ? std::nullopt : std::optional(checked.error().message);
}

void report_newer(const std::string& file, const std::string& version, Findings& findings) {
  findings.damaged({"version", file,
                    "version " + version + " is newer than " + std::to_string(newest_format_version()) +
                        ", the newest that this program reads; a newer fathom wrote it, or it is damaged"});
  findings.note("the store was not checked, because this program does not read its format");
  findings.set_fix("use the fathom that wrote it; if " + file +
                   " is damaged, write the number of the format into it (this program writes " +
                   std::to_string(newest_format_version()) + ")");
}

void report_unfinished_revert(const std::string& path, const Result<>& checked, Findings& findings) {
  const std::string reverting = path + "/reverting";
  findings.damaged({kBackup, reverting, checked ? "a revert of the upgrade is not finished" : checked.error().message});
  findings.note("the store was not checked, because the revert of an upgrade replaces it");
  findings.set_fix((checked ? "finish the revert" : "restore " + reverting + ", then finish the revert") +
                   ": fathom-server revert-upgrade " + path);
}

void report_log(StoreSource& source, const LogState& log, Findings& findings) {
  Result<std::vector<LogLoss>> losses = source.losses_of_log(log);
  if (!losses) return findings.damaged({"logs", log.name, losses.error().message});
  for (const LogLoss& loss : *losses) {
    findings.damaged({"logs", place_of_loss(log, loss), reason_of_loss(log), affected_by(loss)});
  }
}

}  // namespace

bool check_version_file(const std::string& path, Findings& findings) {
  const std::string file = path + "/version";
  findings.checked("version");
  std::ifstream in(file);
  std::string text;
  in >> text;
  const std::optional<int> version = version_of(text);
  if (version > newest_format_version()) {
    report_newer(file, text, findings);
    return false;
  }
  if (auto damage = damage_of_version(path, text, version)) findings.damaged({"version", file, *damage});
  return true;
}

bool check_upgrade_backup(const std::string& path, Findings& findings) {
  const bool is_unfinished = is_being_reverted(path);
  if (!is_unfinished && !has_backup(path)) return true;
  findings.checked(kBackup);
  const Result<> checked = check_backup(path);
  if (is_unfinished) {
    report_unfinished_revert(path, checked, findings);
  } else if (!checked) {
    findings.damaged({kBackup, path + "/before-upgrade", checked.error().message});
  } else {
    findings.note("the upgrade can be reverted; only the manifest of its backup was checked, not the parts");
  }
  return !is_unfinished;
}

void check_manifest(const StoreSource& source, Findings& findings) {
  findings.checked("manifest");
  for (const std::string& path : damaged_witnesses(*rocksdb::Env::Default(), log_places(source.path()).store)) {
    findings.damaged({"manifest", path, "its checksum is wrong; a start of the server writes it again"});
  }
  const Result<ManifestState>& manifest = source.manifest();
  if (!manifest) return findings.damaged({"manifest", log_places(source.path()).store, manifest.error().message});
  if (manifest->damaged_from) {
    findings.damaged(
        {"manifest", at_byte(manifest->path, {*manifest->damaged_from, 0}), "a record there cannot be read"});
  } else if (manifest->summary.corrected) {
    findings.damaged({"manifest", manifest->path, "a header has one wrong bit; a start of the server corrects it"});
  }
}

void check_logs(StoreSource& source, Findings& findings) {
  for (const LogState& log : source.logs()) {
    findings.checked("logs");
    findings.read_bytes(log.summary.bytes);
    if (log.is_damaged()) {
      report_log(source, log, findings);
    } else if (log.summary.corrected) {
      findings.damaged({"logs", log.name, "a header has one wrong bit; a start of the server corrects it"});
    } else if (log.summary.incomplete_from) {
      findings.note("the log " + log.name + " ends within a record, which was never acknowledged");
    }
  }
}

void expect_sorted_files(StoreSource& source, Findings& findings) {
  for (const rocksdb::LiveFileMetaData& file : live_files(source)) findings.expect_bytes(file.size);
}

void check_sorted_files(StoreSource& source, Findings& findings) {
  SortedFiles files(source, findings);
  if (!source.has_database()) {
    for (const std::string& path : source.sorted_files()) files.check_unlisted(path);
    return;
  }
  for (const rocksdb::LiveFileMetaData& file : live_files(source)) files.check(file);
}

}  // namespace fathom::store
