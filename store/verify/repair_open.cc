// Opening the source of a repair, whose files may be damaged.
#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include <rocksdb/sst_file_reader.h>

#include "store/verify/repair_copy.h"

namespace fathom::store {

namespace {

struct WholeFamily {
  std::string_view name;
  std::string_view rows;  // what findings call them
};

// These are read as a whole, so one file that does not open hides all the others of the family.
constexpr WholeFamily kWholeFamilies[] = {{"default", "records"},      {"stage", "stage"},
                                          {"operation", "operations"}, {"segment", "segments"},
                                          {"identity", "identities"},  {"capture", "captures"}};

const WholeFamily* whole_family(std::string_view name) {
  const auto* found = std::ranges::find(kWholeFamilies, name, &WholeFamily::name);
  return found == std::end(kWholeFamilies) ? nullptr : found;
}

struct UnreadableFile {
  WholeFamily family;
  std::string reason;
};

// Those that hide others.
std::vector<UnreadableFile> unreadable_files(StoreSource& source) {
  std::vector<rocksdb::LiveFileMetaData> files;
  source.database().db().GetLiveFilesMetaData(&files);
  std::vector<UnreadableFile> unreadable;
  for (const rocksdb::LiveFileMetaData& file : files) {
    const WholeFamily* family = whole_family(file.column_family_name);
    if (family == nullptr) continue;
    rocksdb::Options options;
    options.env = &source.env();
    const rocksdb::Status status = rocksdb::SstFileReader(options).Open(file.db_path + file.name);
    if (!status.ok()) unreadable.push_back({*family, status.ToString()});
  }
  return unreadable;
}

class SourceOpening {
 public:
  explicit SourceOpening(RepairCopy& copy) : copy_(copy), source_(copy.source), findings_(copy.findings) {}

  Result<> open() {
    Result<> opened = open_database();
    const std::vector<UnreadableFile> unreadable = opened ? unreadable_files(source_) : std::vector<UnreadableFile>();
    if (opened && unreadable.empty()) return {};
    for (const UnreadableFile& file : unreadable) note_lost(file);
    findings_.note(
        "the manifest, or a sorted file of a family that is read as a whole, is damaged; a new manifest was "
        "made of the intact sorted files" +
        (opened ? std::string() : ": " + opened.error().message));
    return source_.rebuild_database(copy_.target.path() + "/scratch");
  }

 private:
  Result<> open_database() {
    Result<> opened = source_.open_database();
    if (opened) return opened;
    if (source_.manifest() && !source_.manifest()->damaged_from) {
      copy_.lost_stage = opened.error().message;  // RocksDB does not say which file it could not open
      return opened;
    }
    Result<std::string> other = source_.open_with_another_manifest();
    if (!other) return opened;
    findings_.note(*other);
    return {};
  }

  void note_lost(const UnreadableFile& file) {
    if (file.family.name == "stage") {
      copy_.lost_stage = file.reason;  // reported as a loss
    } else {
      findings_.damaged({std::string(file.family.rows), "a sorted file", file.reason});
    }
  }

  RepairCopy& copy_;
  StoreSource& source_;
  Findings& findings_;
};

}  // namespace

Result<> open_damaged_source(RepairCopy& copy) {
  return SourceOpening(copy).open();
}

}  // namespace fathom::store
