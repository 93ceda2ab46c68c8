#include "store/verify/repair.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>

#include <rocksdb/sst_file_reader.h>

#include "store/captures/capture_table.h"
#include "store/index/latency_cell.h"
#include "store/rocks/data_directory.h"
#include "store/rocks/keys.h"
#include "store/rocks/loss_record.h"
#include "store/rocks/scan_options.h"
#include "store/verify/capture_check.h"
#include "store/verify/repair_copy.h"
#include "store/verify/repair_directories.h"
#include "store/verify/repair_mark.h"
#include "store/verify/repair_target.h"
#include "store/verify/rows_check.h"
#include "store/verify/store_source.h"
#include "store/verify/stored_clock.h"
#include "store/verify/verify.h"

namespace fathom::store {

namespace {

namespace fs = std::filesystem;

constexpr size_t kRepairDirectoryCache = 32 << 20;
constexpr size_t kRepairPageCache = 8 << 20;

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

class Repair {
 public:
  Repair(StoreSource& source, RepairTarget& target, Findings& findings)
      : source_(source), target_(target), findings_(findings), copy_{source, target, findings, {}, {}} {}

  const RepairClock& clock() const { return copy_.clock; }

  Result<> run(const ReadClocks& read_clocks) {
    if (Result<> opened = open(); !opened) return opened;
    records_ = check_records(source_.database(), findings_);
    source_.live().set_oldest(records_.oldest_partition);
    target_.engine().live->set_oldest(records_.oldest_partition);
    copy_.clock = read_repair_clock(source_, read_clocks());
    for (const auto step :
         {&Repair::copy_records, &Repair::copy_operations, &Repair::copy_segments, &Repair::copy_identities}) {
      if (Result<> done = (this->*step)(); !done) return done;
    }
    if (Result<> done = copy_stage(copy_, sealed_); !done) return done;
    return copy_captures(copy_);
  }

 private:
  Result<> open() {
    Result<> opened = open_database();
    const std::vector<UnreadableFile> unreadable = opened ? unreadable_files(source_) : std::vector<UnreadableFile>();
    if (opened && unreadable.empty()) return {};
    for (const UnreadableFile& file : unreadable) note_lost(file);
    findings_.note(
        "the manifest, or a sorted file of a family that is read as a whole, is damaged; a new manifest was "
        "made of the intact sorted files" +
        (opened ? std::string() : ": " + opened.error().message));
    return source_.rebuild_database(target_.path() + "/scratch");
  }

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

  Result<> copy_records() {
    auto copy = [this](std::string_view key, std::string_view value) -> Result<> {
      const bool known = key.starts_with(keys::kLost) && decode_loss_record(value).ok();
      return known ? target_.put(Family::kDefault, key, value) : Result<>();
    };
    return copy_rows(copy_, Family::kDefault, "", "", copy, [](const RowGap&) {});
  }

  Result<> copy_operations() {
    Catalogue& catalogue = target_.engine().catalogue;
    auto copy = [&](std::string_view key, std::string_view value) -> Result<> {
      findings_.checked("operations");
      const uint32_t id = keys::last_be32(key);
      if (Result<bool> restored = catalogue.restore(id, value); !restored) {
        findings_.damaged({"operations", "operation " + std::to_string(id), restored.error().message});
        return {};
      }
      next_operation_ = std::max(next_operation_, id + 1);
      return target_.put(Family::kOperation, key, value);
    };
    Result<> copied = copy_rows(copy_, Family::kOperation, "", "", copy, [&](const RowGap& gap) {
      findings_.damaged({"operations", "rows between two intact ones", gap.reason});
    });
    // A lost row's number is in stored spans, so it is never given to another operation.
    if (findings_.intact()) return copied;
    constexpr uint32_t kGap = 1 << 20;
    next_operation_ += kGap;
    catalogue.restore_next(std::max(records_.next_operation, next_operation_));
    return copied;
  }

  Result<> copy_segments() {
    auto view = std::make_shared<View>();
    view->segments = read_segments(source_, &findings_);
    add_orphans(copy_, *view);
    for (const SegmentInfoPtr& segment : view->segments) findings_.expect_bytes(segment->bytes);
    SealedContext context{source_.database(), source_.live(), directories_, pages_, oversized_, {}};
    QueryBudget unlimited;
    SealedReader reader(context, view, unlimited);
    sealed_.last_sequence = records_.sealed_sequence;
    for (const SegmentInfoPtr& segment : view->segments) {
      sealed_.last_sequence = std::max(sealed_.last_sequence, segment->last_sequence);
      sealed_.newest_received_unix_nano = std::max(sealed_.newest_received_unix_nano, segment->last_received_unix_nano);
      if (Result<> copied = copy_segment(reader, *segment); !copied) return copied;
      findings_.read_bytes(segment->bytes);
    }
    for (const uint32_t partition : view->partitions()) {
      if (damaged_partitions_.contains(partition)) continue;
      if (Result<> copied = copy_latencies(partition); !copied) return copied;
    }
    return write_numbers();
  }

  Result<> copy_segment(SealedReader& reader, const SegmentInfo& info) {
    findings_.checked("segments");
    // Only latencies are left of a segment whose spans were all repetitions.
    if (info.rows == 0) return target_.put(Family::kSegment, keys::segment(info.partition, info.id), info.encode());
    RepairedSegment rows(info, [this](const StoredRow& row) { return target_.operation_of(row); });
    rows.read(reader);
    findings_.checked("spans", rows.rows());
    if (!rows.lost().empty()) {
      damaged_partitions_.insert(info.partition);
      if (Result<> reported = report(info, rows.lost()); !reported) return reported;
    }
    return rows.rows() == 0 ? Result<>() : target_.seal(info, rows);
  }

  Result<> report(const SegmentInfo& info, const std::vector<LostBlock>& blocks) {
    std::vector<RecordedLoss> losses;
    for (const LostBlock& lost : blocks) {
      const std::string place = "segment " + std::to_string(info.id) + " of partition " +
                                std::to_string(info.partition) +
                                (lost.block ? ", block " + std::to_string(*lost.block) : ", directory");
      findings_.damaged({"spans",
                         place,
                         lost.reason,
                         {.received = TimeRange{info.first_received_unix_nano, info.last_received_unix_nano + 1},
                          .started = lost.started,
                          .spans = lost.rows,
                          .traces = lost.traces}});
      losses.push_back(
          {info.first_received_unix_nano, info.last_received_unix_nano, copy_.clock.now_nano, 0, lost.most_batches});
    }
    return target_.record_loss("repair-segment-" + std::to_string(info.id), losses);
  }

  // Repeated spans count in latencies and are stored once, so the cells say more than the rows.
  Result<> copy_latencies(uint32_t partition) {
    auto copy = [this](std::string_view key, std::string_view value) -> Result<> {
      return LatencyCell::decode(value) ? target_.put(Family::kLatency, key, value) : Result<>();
    };
    return copy_rows(copy_, Family::kLatency, keys::partition(partition), keys::partition(partition + 1), copy,
                     [](const RowGap&) {});
  }

  Result<> write_numbers() {
    std::string oldest, sealed, next;
    append_be32(oldest, records_.oldest_partition);
    ByteWriter(sealed).u64(sealed_.last_sequence);
    append_be32(next, std::max(records_.next_operation, target_.engine().catalogue.next()));
    const std::string none;
    for (const auto& [key, value] :
         {std::pair(keys::kOldestPartition, oldest), std::pair(keys::kSealedSequence, sealed),
          std::pair(keys::kNextOperation, next), std::pair(keys::kIdentitiesUnchecked, none)}) {
      if (Result<> written = target_.put(Family::kDefault, key, value); !written) return written;
    }
    return target_.flush_rows();
  }

  Result<> copy_identities() {
    auto copy = [this](std::string_view key, std::string_view value) {
      findings_.checked("identities");
      return target_.put(Family::kIdentity, key, value);
    };
    return copy_rows(copy_, Family::kIdentity, "", "", copy, [&](const RowGap& gap) {
      findings_.damaged({"identities", "rows between two intact ones", gap.reason});
    });
  }

  StoreSource& source_;
  RepairTarget& target_;
  Findings& findings_;
  RepairCopy copy_;
  DirectoryRecords records_;
  uint32_t next_operation_ = 0;
  SealedState sealed_;
  std::set<uint32_t> damaged_partitions_;
  DirectoryCache directories_{kRepairDirectoryCache};
  SharedPageCache pages_{kRepairPageCache};
  OversizedTraces oversized_;
};

}  // namespace

Result<RepairOutcome> repair_store(const RepairRequest& request, Findings& findings) {
  Result<std::optional<RepairOutcome>> earlier = earlier_repair(request);
  if (!earlier) return earlier.error();
  if (*earlier) return **earlier;
  if (Result<> checked = check_directories(request); !checked) return checked.error();
  Result<std::unique_ptr<StoreSource>> source = StoreSource::open(request.from);
  if (!source) return source.error();
  if (Result<> checked = check_repairable(request.from, newest_format_version()); !checked) return checked.error();
  Result<std::unique_ptr<RepairTarget>> target = RepairTarget::create(request.to, repair_source(request.from));
  if (!target) return target.error();
  findings.expect_bytes(content_bytes(request.from) + request.more_bytes);
  use_stored_clock(request.from, findings);
  Repair repair(**source, **target, findings);
  if (Result<> done = repair.run(request.read_clocks); !done) return done.error();
  if (request.copy_more) {
    if (Result<> copied = request.copy_more((*target)->path(), findings); !copied) return copied.error();
  }
  if (Result<> written = write_repair_clock(repair.clock(), (*target)->path()); !written) return written.error();
  if (Result<> closed = (*target)->close(); !closed) return closed.error();
  source->reset();
  std::error_code ignored;
  fs::remove_all((*target)->path() + "/scratch", ignored);
  if (Result<> finished = (*target)->finish(request.to, findings.intact(), request.sync); !finished)
    return finished.error();
  return RepairOutcome::kRepaired;
}

}  // namespace fathom::store
