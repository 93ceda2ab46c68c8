#include "store/verify/verify.h"

#include <algorithm>

#include "store/purge/exchange.h"
#include "store/rocks/engine.h"
#include "store/rocks/keys.h"
#include "store/verify/capture_check.h"
#include "store/verify/files_check.h"
#include "store/verify/index_check.h"
#include "store/verify/list_check.h"
#include "store/verify/row_scan.h"
#include "store/verify/rows_check.h"
#include "store/verify/segment_check.h"
#include "store/verify/store_source.h"
#include "store/verify/stored_clock.h"

namespace fathom::store {

namespace {

// As many as a store keeps; a trace beyond them may be corrected, which leaves it unchecked.
const size_t kMostCorrections = RocksOptions().corrections_in_memory;
constexpr size_t kDirectoryCacheBytes = 32 << 20;
constexpr size_t kPageCacheBytes = 8 << 20;
// The traces that the index itself calls oversized.
constexpr OversizedLimits kAsStored{.spans = UINT64_MAX, .segments = UINT32_MAX};
constexpr uint64_t kUnlimited = UINT64_MAX;

class Verification {
 public:
  Verification(StoreSource& source, Findings& findings) : source_(source), findings_(findings) {}

  void run() {
    if (!check_version_file(source_.path(), findings_) || !check_upgrade_backup(source_.path(), findings_)) return;
    check_manifest(source_, findings_);
    for (const LogState& log : source_.logs()) findings_.expect_bytes(log.summary.bytes);
    Result<> opened = source_.open_database();
    if (opened) {
      expect_sorted_files(source_, findings_);
      findings_.expect_bytes(content_bytes(source_.path()));
    }
    check_logs(source_, findings_);
    check_sorted_files(source_, findings_);
    if (opened) return check_rows();
    // A damaged manifest is reported already.
    if (source_.manifest() && !source_.manifest()->damaged_from) {
      findings_.damaged({"manifest", log_places(source_.path()).store, opened.error().message});
    }
    findings_.note("without a readable manifest, only the blocks of the sorted files and the logs were checked");
  }

 private:
  void check_rows() {
    Database& database = source_.database();
    const DirectoryRecords records = check_records(database, findings_);
    source_.live().set_oldest(records.oldest_partition);
    check_identities(database, findings_);
    check_operations(database, records, catalogue_, findings_);
    auto view = std::make_shared<View>();
    view->segments = read_segments(source_, &findings_);
    view->corrections = corrections();
    check_order(*view);
    uint64_t sealed = records.sealed_sequence;
    for (const SegmentInfoPtr& segment : view->segments) sealed = std::max(sealed, segment->last_sequence);
    check_stage(database, sealed, findings_);
    check_segments(view);
    if (database.has(Family::kCapture)) check_captures(database, source_.path(), findings_);
  }

  void check_segments(const ViewPtr& view) {
    Database& database = source_.database();
    for (const SegmentInfoPtr& segment : view->segments) findings_.expect_bytes(segment->bytes);
    SealedContext context{database, source_.live(), directories_, pages_, oversized_, kAsStored};
    QueryBudget unlimited;
    SealedReader reader(context, view, unlimited);
    check_trace_index(database, source_.live(), *view, findings_);
    check_notes(database, source_.live(), reader, findings_);
    check_orphans(database, source_.live(), *view, findings_);
    for (const uint32_t partition : view->partitions()) check_partition(*view, reader, partition);
  }

  void check_partition(const View& view, SealedReader& reader, uint32_t partition) {
    ListCheck lists(source_.database(), reader, findings_, partition);
    SegmentCheck segments(reader, catalogue_, findings_);
    bool complete = true;
    for (const SegmentInfoPtr& segment : view.segments) {
      if (segment->partition != partition) continue;
      IndexBuilder index(partition, catalogue_);
      complete &= segments.check(*segment, index);
      lists.add(index);
      findings_.read_bytes(segment->bytes);
    }
    lists.finish(complete);
  }

  // Segments are sealed one after the other: a later one has later batches.
  void check_order(const View& view) {
    for (size_t i = 1; i < view.segments.size(); ++i) {
      const SegmentInfo& before = *view.segments[i - 1];
      const SegmentInfo& info = *view.segments[i];
      if (before.last_sequence < info.first_sequence && before.partition <= info.partition) continue;
      findings_.damaged({"segments", "segment " + std::to_string(info.id),
                         "its record overlaps that of segment " + std::to_string(before.id)});
    }
  }

  std::shared_ptr<const Corrections> corrections() {
    auto all = std::make_shared<Corrections>(kMostCorrections);
    auto add = [&](std::string_view key, std::string_view value) {
      const std::optional<TraceId> id = keys::straddle_trace(key);
      Result<TracePart> part = decode_trace_part_value(value);
      // An oversized trace has a row here whether or not it was corrected.
      if (id && part && !part->summary.oversized) all->add(*id, part->summary);
    };
    RowScan::run(source_.database(), Family::kCorrected, "", "", add, [](const RowGap&) {});
    all->finish();
    return all;
  }

  StoreSource& source_;
  Findings& findings_;
  DirectoryCache directories_{kDirectoryCacheBytes};
  SharedPageCache pages_{kPageCacheBytes};
  OversizedTraces oversized_;
  Catalogue catalogue_{CatalogueLimits{UINT32_MAX, UINT32_MAX, kUnlimited}};
};

}  // namespace

std::vector<SegmentInfoPtr> read_segments(StoreSource& source, Findings* findings) {
  std::vector<SegmentInfoPtr> segments;
  auto add = [&](std::string_view key, std::string_view value) {
    Result<SegmentInfo> info = SegmentInfo::decode(key, value);
    if (!info && findings != nullptr) findings->damaged({"segments", "a record", info.error().message});
    if (info && source.live().is_live(info->partition)) segments.push_back(std::make_shared<SegmentInfo>(*info));
  };
  RowScan::run(source.database(), Family::kSegment, "", "", add, [&](const RowGap& gap) {
    if (findings != nullptr) findings->damaged({"segments", "records between two intact ones", gap.reason});
  });
  std::ranges::sort(segments, {}, [](const SegmentInfoPtr& segment) { return segment->id; });
  return segments;
}

Result<> verify_store(const std::string& path, Findings& findings) {
  const Result<PurgeLock> lock = PurgeLock::acquire(path, PurgeLock::Kind::kShared);
  if (!lock && lock.error().code == ErrorCode::kUnavailable) return lock.error();
  Result<std::unique_ptr<StoreSource>> source = StoreSource::open(path);
  if (!source) return source.error();
  use_stored_clock(path, findings);
  Verification(**source, findings).run();
  return {};
}

}  // namespace fathom::store
