#include "store/verify/store_copy.h"

#include <algorithm>
#include <string>
#include <utility>

#include "store/index/latency_cell.h"
#include "store/rocks/keys.h"
#include "store/rocks/loss_record.h"
#include "store/verify/verify.h"

namespace fathom::store {

Result<> StoreCopy::run(const ReadClocks& read_clocks) {
  records_ = check_records(source_.database(), findings_);
  source_.live().set_oldest(records_.oldest_partition);
  target_.engine().live->set_oldest(records_.oldest_partition);
  copy_.clock = read_repair_clock(source_, read_clocks());
  for (const auto step : {&StoreCopy::copy_records, &StoreCopy::read_operations, &StoreCopy::copy_segments,
                          &StoreCopy::copy_identities}) {
    if (Result<> done = (this->*step)(); !done) return done;
  }
  if (Result<> done = copy_stage(copy_, sealed_); !done) return done;
  return copy_captures(copy_);
}

Result<> StoreCopy::copy_records() {
  auto copy = [this](std::string_view key, std::string_view value) -> Result<> {
    const bool known = key.starts_with(keys::kLost) && decode_loss_record(value).ok();
    return known ? target_.put(Family::kDefault, key, value) : Result<>();
  };
  return copy_rows(copy_, Family::kDefault, "", "", copy, [](const RowGap&) {});
}

Result<> StoreCopy::read_operations() {
  Catalogue& catalogue = target_.engine().catalogue;
  auto read = [&](std::string_view key, std::string_view value) -> Result<> {
    findings_.checked("operations");
    const uint32_t id = keys::last_be32(key);
    if (Result<bool> restored = catalogue.restore(id, value); !restored) {
      findings_.damaged({"operations", "operation " + std::to_string(id), restored.error().message});
      return {};
    }
    next_operation_ = std::max(next_operation_, id + 1);
    operations_.emplace(id, value);
    return {};
  };
  Result<> done = copy_rows(copy_, Family::kOperation, "", "", read, [&](const RowGap& gap) {
    findings_.damaged({"operations", "rows between two intact ones", gap.reason});
  });
  // A lost row's number is in stored spans, so it is never given to another operation.
  if (findings_.intact()) return done;
  constexpr uint32_t kGap = 1 << 20;
  next_operation_ += kGap;
  catalogue.restore_next(std::max(records_.next_operation, next_operation_));
  return done;
}

Result<> StoreCopy::copy_segments() {
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
    if (recounted_.contains(partition)) continue;
    if (Result<> copied = copy_latencies(partition); !copied) return copied;
  }
  if (Result<> written = write_operations(); !written) return written;
  return write_numbers();
}

Result<> StoreCopy::copy_segment(SealedReader& reader, const SegmentInfo& info) {
  if (copy_.is_cancelled && copy_.is_cancelled()) return Error{ErrorCode::kCancelled, "the copy was cancelled"};
  findings_.checked("segments");
  // Only latencies are left of a segment whose spans were all repetitions.
  if (info.rows == 0) return target_.put(Family::kSegment, keys::segment(info.partition, info.id), info.encode());
  auto operation_of = [this](const StoredRow& row) {
    const uint32_t operation = target_.operation_of(row);
    used_operations_.insert(operation);
    return operation;
  };
  RepairedSegment rows(info, operation_of, copy_.keeps_trace);
  rows.read(reader);
  spans_left_out_ += rows.left_out();
  if (rows.left_out() > 0) recounted_.insert(info.partition);
  findings_.checked("spans", rows.rows());
  if (!rows.lost().empty()) {
    recounted_.insert(info.partition);
    if (Result<> reported = report(info, rows.lost()); !reported) return reported;
  }
  return rows.rows() == 0 ? Result<>() : target_.seal(info, rows);
}

Result<> StoreCopy::report(const SegmentInfo& info, const std::vector<LostBlock>& blocks) {
  std::vector<RecordedLoss> losses;
  for (const LostBlock& lost : blocks) {
    const std::string place = "segment " + std::to_string(info.id) + " of partition " + std::to_string(info.partition) +
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
Result<> StoreCopy::copy_latencies(uint32_t partition) {
  auto copy = [this](std::string_view key, std::string_view value) -> Result<> {
    used_operations_.insert(keys::last_be32(key));
    return LatencyCell::decode(value) ? target_.put(Family::kLatency, key, value) : Result<>();
  };
  return copy_rows(copy_, Family::kLatency, keys::partition(partition), keys::partition(partition + 1), copy,
                   [](const RowGap&) {});
}

Result<> StoreCopy::write_operations() {
  for (const auto& [id, row] : operations_) {
    if (!copy_.keeps_all() && !used_operations_.contains(id)) continue;
    if (Result<> written = target_.put(Family::kOperation, keys::operation(id), row); !written) return written;
  }
  return target_.flush_rows();
}

Result<> StoreCopy::write_numbers() {
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

Result<> StoreCopy::copy_identities() {
  auto copy = [this](std::string_view key, std::string_view value) {
    findings_.checked("identities");
    return target_.put(Family::kIdentity, key, value);
  };
  return copy_rows(copy_, Family::kIdentity, "", "", copy, [&](const RowGap& gap) {
    findings_.damaged({"identities", "rows between two intact ones", gap.reason});
  });
}

}  // namespace fathom::store
