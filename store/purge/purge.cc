#include "store/purge/purge.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/small_file.h"
#include "base/sync_directory.h"
#include "store/block/layout.h"
#include "store/rocks/database.h"
#include "store/rocks/rocks_store.h"
#include "store/verify/capture_check.h"
#include "store/verify/repair.h"
#include "store/verify/repair_copy.h"
#include "store/verify/repair_target.h"
#include "store/verify/rows_check.h"
#include "store/verify/store_copy.h"
#include "store/verify/store_source.h"
#include "store/verify/verify.h"

namespace fathom::store {

namespace {

namespace fs = std::filesystem;

// What cannot be read may have files.
bool has_files(const std::string& directory) {
  std::error_code error;
  const fs::directory_iterator files(directory, error);
  return error ? error != std::errc::no_such_file_or_directory : files != fs::directory_iterator();
}

// A rename would leave the data behind a link, and cannot move a mount point.
Result<> check_parts(const std::string& directory) {
  struct stat whole {};
  if (::stat(directory.c_str(), &whole) != 0) return invalid("cannot look at the data directory " + directory);
  for (const char* part : {"/store", "/captures"}) {
    struct stat about {};
    if (::lstat((directory + part).c_str(), &about) != 0 && errno == ENOENT) continue;
    if (S_ISDIR(about.st_mode) && about.st_dev == whole.st_dev) continue;
    return invalid(directory + part + " must be a directory of the same file system as " + directory +
                   ", and no link; move it there, then purge again");
  }
  return {};
}

// What a purge does not search must not be there.
Result<> check_other_copies(const std::string& directory) {
  if (has_files(directory + "/before-upgrade")) {
    return invalid(directory +
                   "/before-upgrade still has all data from before the last upgrade; delete it with "
                   "'fathom-server commit-upgrade " +
                   directory + "', then purge again");
  }
  if (has_files(directory + "/damaged")) {
    return invalid(directory +
                   "/damaged has parts of damaged logs and captures, which may contain what is to be "
                   "purged; delete that directory, then purge again");
  }
  return {};
}

// A start would upgrade the directory, and keep all data in a backup.
Result<> check_upgraded(const std::string& directory) {
  const Result<std::string> text = read_small_file(directory + "/version");
  const int newest = newest_format_version();
  // RocksStore::open() rejects a directory without a version, and one of a newer format.
  if (!text || std::atoi(text->c_str()) >= newest) return {};
  return invalid(directory +
                 " is of an older format; start this version's server on it, commit the upgrade with "
                 "'fathom-server commit-upgrade " +
                 directory + "', then purge");
}

// A start of the store repairs logs; sealing leaves no batch in them.
Result<> seal_all(const PurgeRequest& request) {
  RocksOptions options;
  options.path = request.directory;
  options.read_clocks = request.read_clocks;
  options.reserve_disk_bytes = 0;
  // Nothing is dropped, and no name becomes "__other__".
  options.capture_bytes = 0;
  options.services = UINT32_MAX;
  options.operations_per_service = UINT32_MAX;
  options.catalogue_bytes = UINT64_MAX;
  options.listed_attribute_keys = block::kMaxListedKeys;
  Result<std::unique_ptr<RocksStore>> store = RocksStore::open(std::move(options));
  return store ? (*store)->settle() : Result<>(store.error());
}

class Purge {
 public:
  Purge(const PurgeRequest& request, const Findings::Progress& progress) : request_(request), findings_(progress) {}

  Result<PurgeReport> run() {
    if (Result<> opened = open(); !opened) return opened.error();
    if (Result<> found = find_purged(source_of_search(), request_.rule, findings_, report_.purged); !found) {
      return damaged(found.error());
    }
    report_.spans = report_.purged.matching_spans;
    if (request_.dry_run || report_.purged.empty()) return std::move(report_);
    if (Result<> copied = copy(); !copied) return copied.error();
    return std::move(report_);
  }

 private:
  static constexpr size_t kDirectoryCache = 32 << 20;
  static constexpr size_t kPageCache = 8 << 20;

  Result<> open() {
    Result<std::unique_ptr<StoreSource>> source = StoreSource::open(request_.directory);
    if (!source) return source.error();
    source_ = *std::move(source);
    if (Result<> opened = source_->open_database(); !opened) return damaged(opened.error());
    const DirectoryRecords records = check_records(source_->database(), findings_);
    source_->live().set_oldest(records.oldest_partition);
    view_ = std::make_shared<View>();
    view_->segments = read_segments(*source_, &findings_);
    for (const SegmentInfoPtr& segment : view_->segments) findings_.expect_bytes(segment->bytes);
    findings_.expect_bytes(content_bytes(request_.directory));
    return findings_.intact() ? Result<>() : damaged(corrupt(first_damage()));
  }

  PurgeSource source_of_search() {
    return {source_->database(),
            request_.directory,
            {source_->database(), source_->live(), directories_, pages_, oversized_, {}},
            view_};
  }

  Result<> copy() {
    const std::string to = purge_path(request_.directory);
    Result<std::unique_ptr<RepairTarget>> target = RepairTarget::create(to, repair_source(request_.directory));
    if (!target) return target.error();
    if (Result<> filled = fill(**target); !filled) return filled;
    if (Result<> checked = check(**target); !checked) return checked;
    if (request_.remove_snapshots) {
      if (Result<> removed = request_.remove_snapshots(report_.purged); !removed) return removed;
    }
    if (Result<> closed = (*target)->close(); !closed) return closed;
    if (Result<> finished = (*target)->finish(to, /*is_intact=*/true, sync_path); !finished) return finished;
    return exchange();
  }

  // The source stays open: its lock keeps servers and tools of earlier versions away, which know of no other.
  Result<> exchange() {
    Result<Exchange> done = finish_exchange(request_.directory);
    if (!done) {
      Error why = done.error();
      why.message += "; the copy is complete, and the next start of the server completes the purge";
      return why;
    }
    if (*done == Exchange::kDone) return {};
    return internal("a server changed the data during the purge, and nothing was purged; purge again");
  }

  Result<> fill(RepairTarget& target) {
    RepairCopy copy{*source_, target, findings_};
    copy.keeps_trace = [this](const TraceId& id) { return !report_.purged.traces.contains(id); };
    copy.keeps_capture = [this](const CaptureInfo& info) { return !report_.purged.captures.contains(info.id); };
    findings_.expect_bytes(content_bytes(request_.directory));
    copy.is_cancelled = request_.rule.is_cancelled;
    StoreCopy rows(copy);
    if (Result<> done = rows.run(request_.read_clocks); !done) return done;
    if (!findings_.intact()) return damaged(corrupt(first_damage()));
    report_.spans = rows.spans_left_out();
    // Without captures, the copy has no directory of them to take the place of the old one.
    std::error_code error;
    fs::create_directories(target.path() + "/captures", error);
    return error ? Result<>(unavailable("cannot create " + target.path() + "/captures")) : Result<>();
  }

  // By the rows and indexes of the copy, not by what was left out.
  Result<> check(RepairTarget& target) {
    Engine& engine = target.engine();
    const PurgeSource written{*engine.database, target.path(), engine.sealed(), engine.views.get()};
    PurgeSet left;
    left.traces = report_.purged.traces;  // captures must not tell of these
    Findings unreported;
    if (Result<> found = find_purged(written, request_.rule, unreported, left); !found) return found;
    Result<uint64_t> indexed = count_indexed(written, report_.purged.traces);
    if (!indexed) return indexed.error();
    for (const SegmentInfoPtr& segment : written.view->segments) report_.spans_left += segment->rows;
    if (left.matching_spans == 0 && left.captures.empty() && *indexed == 0) return {};
    return internal("the purged copy still has " + std::to_string(left.matching_spans) + " matching spans, " +
                    std::to_string(left.captures.size()) + " captures and " + std::to_string(*indexed) +
                    " entries of indexes; nothing was changed");
  }

  std::string first_damage() const {
    if (findings_.damages().empty()) return "it is damaged";
    const Damage& first = findings_.damages().front();
    return first.part + ": " + first.place + ": " + first.reason;
  }
  Error damaged(Error why) const {
    if (why.code != ErrorCode::kCorrupt) return why;
    why.message += "; nothing was purged. 'fathom store repair " + request_.directory +
                   " NEW_DIR' salvages what is intact; then purge NEW_DIR";
    return why;
  }

  const PurgeRequest& request_;
  Findings findings_;
  std::unique_ptr<StoreSource> source_;
  std::shared_ptr<View> view_;
  DirectoryCache directories_{kDirectoryCache};
  SharedPageCache pages_{kPageCache};
  OversizedTraces oversized_;
  PurgeReport report_;
};

}  // namespace

namespace {

// Before anything is written.
Result<> check_room(const std::string& directory) {
  Result<RepairSpace> space = repair_space({.from = directory, .to = purge_path(directory)});
  if (!space) return space.error();
  if (space->is_enough()) return {};
  return unavailable("the purge needs " + std::to_string(space->needed_bytes) +
                     " bytes of free disk space for a copy of what stays, and " + std::to_string(space->free_bytes) +
                     " are free");
}

}  // namespace

Result<PurgeReport> purge_store(const PurgeRequest& request, const Findings::Progress& progress) {
  if (request.dry_run) return Purge(request, progress).run();
  Result<PurgeLock> lock = PurgeLock::acquire(request.directory);
  if (!lock) return lock.error();
  if (Result<Exchange> finished = finish_exchange(request.directory); !finished) return finished.error();
  for (const auto check : {check_parts, check_other_copies, check_room, check_upgraded}) {
    if (Result<> checked = check(request.directory); !checked) return checked.error();
  }
  if (Result<> sealed = seal_all(request); !sealed) return sealed.error();
  if (Result<> checked = check_other_copies(request.directory); !checked) return checked.error();
  return Purge(request, progress).run();
}

}  // namespace fathom::store
