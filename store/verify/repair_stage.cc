// copy_stage(): batches that no segment has.
#include <algorithm>
#include <optional>
#include <utility>

#include "store/batch.h"
#include "store/clock/clock_keeper.h"
#include "store/rocks/keys.h"
#include "store/verify/repair_copy.h"

namespace fathom::store {

namespace {

class StageCopy {
 public:
  StageCopy(const RepairCopy& repair, const SealedState& sealed)
      : repair_(repair), sealed_(sealed), last_(sealed.last_sequence), received_(sealed.newest_received_unix_nano) {}

  Result<> run() {
    Result<> copied = copy_rows(
        repair_, Family::kStage, keys::stage(sealed_.last_sequence + 1), "",
        [this](std::string_view key, std::string_view value) { return copy(key, value); },
        [this](const RowGap& found) { gap_ = found.reason; });
    if (!copied) return copied;
    if (gap_) lose_rest(*gap_);
    if (repair_.lost_stage) lose_any(*repair_.lost_stage);
    if (Result<> added = add_log_losses(); !added) return added;
    return losses_.empty() ? Result<>() : repair_.target.record_loss("repair-stage", losses_);
  }

 private:
  Result<> copy(std::string_view key, std::string_view value) {
    const uint64_t sequence = keys::stage_sequence(key), received = ByteReader(value).u64();
    Result<BatchPtr> batch = Batch::parse(std::string(value.substr(std::min<size_t>(8, value.size()))));
    if (!batch) {
      gap_ = batch.error().message;
      return {};
    }
    if (gap_) lose_until(sequence, received, *std::exchange(gap_, std::nullopt));
    last_ = sequence;
    received_ = received;
    repair_.findings.checked("stage");
    repair_.findings.checked("spans", (*batch)->rows().size());
    return repair_.target.put(Family::kStage, key, value);
  }

  void lose_until(uint64_t sequence, uint64_t received, const std::string& reason) {
    report({received_, std::max(received, received_), repair_.clock.now_nano, 0, sequence - last_ - 1},
           sequence == last_ + 2 ? "batch " + std::to_string(last_ + 1)
                                 : "batches " + std::to_string(last_ + 1) + " to " + std::to_string(sequence - 1),
           reason);
  }
  void lose_rest(const std::string& reason) {
    report({received_, open_end(received_), repair_.clock.now_nano, 0, std::nullopt},
           "batches from " + std::to_string(last_ + 1) + " on", reason);
  }

  // Nothing says which ones.
  void lose_any(const std::string& reason) {
    const uint64_t sealed = sealed_.newest_received_unix_nano;
    report({sealed, open_end(sealed), repair_.clock.now_nano, 0, std::nullopt}, "batches that no segment has", reason);
  }

  // The end of a loss that no later batch bounds.
  uint64_t open_end(uint64_t first_received) const {
    return std::max(repair_.clock.now_nano, first_received) + kClockSaveNano;
  }

  Result<> add_log_losses() {
    for (const LogState& log : repair_.source.logs()) {
      if (!log.is_damaged()) continue;
      Result<std::vector<LogLoss>> found = repair_.source.losses_of_log(log);
      if (!found) return found.error();
      for (const LogLoss& one : *found) add_log_loss(log, one);
    }
    return {};
  }

  void add_log_loss(const LogState& log, const LogLoss& found) {
    const StagedBatch before =
        found.before.value_or(StagedBatch{sealed_.last_sequence, sealed_.newest_received_unix_nano});
    const uint64_t first_received = before.received_unix_nano;
    RecordedLoss loss{first_received, open_end(first_received), repair_.clock.now_nano, found.range.bytes,
                      std::nullopt};
    if (found.after) {
      loss.last_received_nano = std::max(found.after->received_unix_nano, first_received);
      const uint64_t first = std::max(before.sequence, sealed_.last_sequence);
      loss.most_batches = found.after->sequence > first ? found.after->sequence - first - 1 : 0;
    }
    if (loss.most_batches == 0) return;
    report(loss, place_of_loss(log, found), reason_of_loss(log));
  }

  void report(const RecordedLoss& loss, const std::string& place, const std::string& reason) {
    losses_.push_back(loss);
    repair_.findings.damaged({"stage",
                              place,
                              reason,
                              {.received = TimeRange{loss.first_received_nano, end_of(loss.last_received_nano, 1)},
                               .started = std::nullopt}});
  }

  const RepairCopy& repair_;
  const SealedState& sealed_;
  uint64_t last_;
  uint64_t received_;
  std::optional<std::string> gap_;
  std::vector<RecordedLoss> losses_;
};

}  // namespace

Result<> copy_stage(const RepairCopy& repair, const SealedState& sealed) {
  return StageCopy(repair, sealed).run();
}

}  // namespace fathom::store
