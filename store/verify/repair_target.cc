#include "store/verify/repair_target.h"

#include <filesystem>

#include "store/rocks/keys.h"
#include "store/rocks/loss_record.h"
#include "store/rocks/sealer.h"

namespace fathom::store {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostWaitingBytes = 8 << 20;
constexpr uint64_t kRepairLogBytes = 16 << 20;  // repair_space() counts on it

// What RocksDB and others have synced already costs little.
Result<> sync_tree(const std::string& path, const SyncPath& sync) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const fs::file_type type = at->symlink_status(error).type();
    if (error) break;
    if (type != fs::file_type::regular && type != fs::file_type::directory) continue;
    if (Result<> synced = sync(at->path()); !synced) return synced;
  }
  return error ? Result<>(internal("cannot list " + path + ": " + error.message())) : sync(path);
}

// A directory that no repair made is nothing to remove.
Result<> remove_unfinished(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  const std::string mark = path + "/" + RepairMark::kName;
  const bool has_mark = fs::exists(mark, error) || fs::exists(mark + ".new", error);
  if (!has_mark && !fs::is_empty(path, error)) {
    return invalid(path + " exists and no repair made it; move it away or choose another new directory");
  }
  fs::remove_all(path, error);
  return error ? Result<>(internal("cannot remove " + path + ": " + error.message())) : Result<>();
}

}  // namespace

std::string RepairTarget::unfinished(const std::string& to) {
  return to + ".unfinished";
}

Result<std::unique_ptr<RepairTarget>> RepairTarget::create(const std::string& to, RepairSource source) {
  const std::string path = unfinished(to);
  if (Result<> removed = remove_unfinished(path); !removed) return removed.error();
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return invalid("cannot make " + path + ": " + error.message());
  const RepairMark mark{source, RepairMark::State::kUnfinished};
  if (Result<> marked = mark.write(path); !marked) return marked.error();
  RocksOptions options;
  options.path = path;
  options.operations_per_service = UINT32_MAX;
  options.services = UINT32_MAX;
  options.catalogue_bytes = UINT64_MAX;
  options.listed_attribute_keys = block::kMaxListedKeys;
  std::unique_ptr<RepairTarget> target(new RepairTarget(std::move(options), std::move(source)));
  Result<std::unique_ptr<Database>> database = Database::open(target->engine_.options, target->engine_.live);
  if (!database) return database.error();
  target->engine_.database = std::move(*database);
  target->engine_.database->limit_log(kRepairLogBytes);
  return target;
}

Result<> RepairTarget::put(Family family, std::string_view key, std::string_view value) {
  const rocksdb::Status status =
      rows_.Put(engine_.database->family(family), {key.data(), key.size()}, {value.data(), value.size()});
  if (!status.ok()) return from_status(status, "copy a row");
  return rows_.GetDataSize() < kMostWaitingBytes ? Result<>() : flush_rows();
}

Result<> RepairTarget::flush_rows() {
  const rocksdb::Status status = engine_.database->db().Write(rocksdb::WriteOptions(), &rows_);
  rows_.Clear();
  return status.ok() ? Result<>() : Result<>(from_status(status, "write copied rows"));
}

// The old number, unless the operation's row is lost.
uint32_t RepairTarget::operation_of(const StoredRow& row) {
  const OperationKey known = engine_.catalogue.operation(row.operation);
  const bool is_lost = known == OperationKey{"", "unknown_service", "", SpanKind::kUnspecified};
  if (!is_lost) return row.operation;
  return engine_.catalogue
      .intern(service_namespace(row.resource), service_name(row.resource), row.span.name, row.span.kind, hold_)
      .id;
}

Result<> RepairTarget::write_operations() {
  for (const auto& [id, row] : engine_.catalogue.take_pending()) {
    if (Result<> written = put(Family::kOperation, keys::operation(id), row); !written) return written;
  }
  return flush_rows();
}

std::optional<TraceExtent> RepairTarget::find_older(SealedReader& older, const TraceId& id) {
  Result<std::optional<TracePart>> newest = older.newest_part(id);
  // As after a failed look-up of the committer: sealing looks again.
  if (!newest) return TraceExtent::unknown();
  if (!*newest) return std::nullopt;
  const TraceSummary& summary = (*newest)->summary;
  return TraceExtent{summary.start_unix_nano, end_of(summary.start_unix_nano, summary.duration_nano),
                     summary.first_sequence, 0, summary.oversized};
}

Result<> RepairTarget::seal(const SegmentInfo& info, RepairedSegment& rows) {
  if (Result<> written = write_operations(); !written) return written;
  const ViewPtr view = engine_.views.get();
  QueryBudget unlimited;
  SealedReader older(engine_.sealed(), view, unlimited);
  const std::unique_ptr<Generation> generation = rows.take([&](const TraceId& id) { return find_older(older, id); });
  SealInput input{*generation, info.id, engine_.catalogue};
  input.received_unix_nano = {info.first_received_unix_nano, info.last_received_unix_nano};
  Result<SegmentInfo> sealed = store::seal(input, engine_.sealed(), view);
  if (!sealed) return sealed.error();
  engine_.views.update([&](View& next) { next.segments.push_back(std::make_shared<SegmentInfo>(*sealed)); });
  return {};
}

Result<> RepairTarget::record_loss(const std::string& name, const std::vector<RecordedLoss>& losses) {
  return put(Family::kDefault, keys::kLost + name, encode_loss_record({.is_unix = false, .losses = losses}));
}

Result<> RepairTarget::close() {
  if (Result<> written = write_operations(); !written) return written;
  const rocksdb::Status status = engine_.database->sync_log();
  if (!status.ok()) return from_status(status, "make the new directory durable");
  engine_.views.update([](View& view) { view = View(); });
  engine_.database.reset();
  return {};
}

Result<> RepairTarget::finish(const std::string& to, bool is_intact, const SyncPath& sync) {
  const RepairMark mark{source_, is_intact ? RepairMark::State::kNothingLost : RepairMark::State::kLoss};
  if (Result<> marked = mark.write(path()); !marked) return marked;
  if (Result<> synced = sync_tree(path(), sync); !synced) return synced;
  std::error_code error;
  fs::rename(path(), to, error);
  if (error) return internal("cannot rename " + path() + " to " + to + ": " + error.message());
  return sync(fs::absolute(to).parent_path());
}

}  // namespace fathom::store
