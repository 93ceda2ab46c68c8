#include "store/wal/log_losses.h"

#include <utility>

#include "base/bytes.h"
#include "store/rocks/keys.h"
#include "store/wal/batch_handler.h"
#include "store/wal/log_state.h"
#include "store/wal/missing_logs.h"

namespace fathom::store {

namespace {

// Collects the stage batches of one record.
class StagePuts : public BatchHandler {
 public:
  explicit StagePuts(uint32_t family) : family_(family) {}

  Status PutCF(uint32_t family, const Slice& key, const Slice& value) override {
    ByteReader in(value.ToStringView());
    const StagedBatch batch{keys::stage_sequence(key.ToStringView()), in.u64()};
    if (family != family_ || batch.sequence == 0 || in.failed()) return Status::OK();
    if (!first) first = batch;
    last = batch;
    return Status::OK();
  }

  std::optional<StagedBatch> first, last;

 private:
  const uint32_t family_;
};

// A record that RocksDB cannot apply contains no batches for us either.
StagePuts stage_puts(std::string_view record, uint32_t family) {
  StagePuts puts(family);
  rocksdb::WriteBatch(std::string(record)).Iterate(&puts).PermitUncheckedError();
  return puts;
}

class FirstBatch : public LogVisitor {
 public:
  explicit FirstBatch(uint32_t stage_family) : stage_family_(stage_family) {}
  Result<> on_record(std::string_view record) override {
    if (!found) found = stage_puts(record, stage_family_).first;
    return {};
  }

  std::optional<StagedBatch> found;

 private:
  const uint32_t stage_family_;
};

class LossFinder : public LogVisitor {
 public:
  explicit LossFinder(uint32_t stage_family) : stage_family_(stage_family) {}

  Result<> on_record(std::string_view record) override {
    const StagePuts puts = stage_puts(record, stage_family_);
    if (puts.first) set_next(*puts.first);
    if (puts.last) newest_ = puts.last;
    return {};
  }
  Result<> on_damage(const LogRange& range) override {
    if (reported_ < losses_.size() && losses_.back().range.end() == range.offset) {
      losses_.back().range.bytes += range.bytes;
    } else {
      losses_.push_back({range, newest_, std::nullopt});
    }
    return {};
  }
  std::vector<LogLoss> take() { return std::move(losses_); }

 private:
  void set_next(const StagedBatch& batch) {
    for (; reported_ < losses_.size(); ++reported_) losses_[reported_].after = batch;
  }

  const uint32_t stage_family_;
  std::optional<StagedBatch> newest_;
  std::vector<LogLoss> losses_;
  size_t reported_ = 0;  // the `after` of losses before this index is known
};

}  // namespace

Result<std::vector<LogLoss>> losses_of(rocksdb::Env& env, const std::string& path, const SequenceRange& range,
                                       uint32_t stage_family, const LogEnd& end) {
  Result<LogSequences> sequences = read_sequences(env, path);
  if (!sequences) return sequences.error();
  LossFinder finder(stage_family);
  const RecordNumbers doubtful = with_repeated(*sequences, misplaced_in(*sequences, range));
  Result<LogSummary> found = scan_log(env, path, finder, doubtful);
  if (!found) return found.error();
  const uint64_t intact_end = end.may_be_incomplete ? found->end : found->intact_end();
  const LogRange rest{intact_end, found->end + end.missing_bytes - intact_end};
  if (Result<> added = rest.bytes > 0 ? finder.on_damage(rest) : Result<>(); !added) return added.error();
  return finder.take();
}

Result<std::vector<LogLoss>> losses_set_aside(rocksdb::Env& env, const LogPlaces& places, const std::string& name,
                                              uint32_t stage_family) {
  if (is_missing_mark(name)) return std::vector<LogLoss>(1);
  const LogEnd end{.may_be_incomplete = false, .missing_bytes = missing_bytes_in_name(name)};
  return losses_of(env, places.damaged + "/" + name, range_in_name(name), stage_family, end);
}

Result<std::optional<StagedBatch>> first_batch_after(rocksdb::Env& env, const LogPlaces& places, const std::string& log,
                                                     uint32_t stage_family) {
  Result<std::vector<LogFile>> logs = list_store_logs(env, places.store);
  if (!logs) return logs.error();
  const std::optional<LogFile> damaged = log_file(log);
  FirstBatch first(stage_family);
  for (const LogFile& later : *logs) {
    if (!damaged || later.number <= damaged->number || first.found) continue;
    Result<LogSummary> scanned = scan_log(env, places.store + "/" + later.name, first);
    if (!scanned) return scanned.error();
  }
  return first.found;
}

}  // namespace fathom::store
