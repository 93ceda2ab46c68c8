#include "store/rocks/operation_rows.h"

#include <ranges>

#include "base/log.h"
#include "store/rocks/keys.h"
#include "store/rocks/scan_options.h"

namespace fathom::store {

namespace {

Result<> load_next(Engine& engine) {
  Database& database = *engine.database;
  std::string value;
  rocksdb::Status status =
      database.db().Get(rocksdb::ReadOptions(), database.family(Family::kDefault), keys::kNextOperation, &value);
  if (status.IsNotFound()) return {};
  if (!status.ok()) return from_status(status, "read the data directory");
  if (value.size() != 4) return corrupt("the record of the next operation is damaged");
  engine.catalogue.restore_next(load_be32(value.data()));
  return {};
}

// True when all rows are of the current version.
Result<bool> load_rows(Engine& engine) {
  Database& database = *engine.database;
  std::unique_ptr<rocksdb::Iterator> rows(
      database.db().NewIterator(scan_options(), database.family(Family::kOperation)));
  bool current = true;
  for (rows->SeekToFirst(); rows->Valid(); rows->Next()) {
    Result<bool> restored =
        engine.catalogue.restore(keys::last_be32(rows->key().ToStringView()), rows->value().ToStringView());
    if (!restored) return restored.error();
    current &= *restored;
  }
  if (!rows->status().ok()) return from_status(rows->status(), "read the catalogue");
  return current;
}

// Rows of version 1 tell a service's number only as long as none is deleted.
Result<> rewrite_rows(Engine& engine) {
  Database& database = *engine.database;
  rocksdb::WriteBatch batch;
  for (const auto& [id, row] : engine.catalogue.rows()) {
    batch.Put(database.family(Family::kOperation), keys::operation(id), row);
  }
  rocksdb::WriteOptions options;
  options.sync = true;
  rocksdb::Status status = database.db().Write(options, &batch);
  return status.ok() ? Result<>() : Result<>(from_status(status, "write the catalogue of operations"));
}

// Every span has a latency cell, and hours are the fewest.
rocksdb::Status mark_used(Engine& engine, uint32_t partition, size_t& unknown) {
  rocksdb::ReadOptions options = scan_options();
  options.fill_cache = false;
  Database& database = *engine.database;
  std::unique_ptr<rocksdb::Iterator> cells(database.db().NewIterator(options, database.family(Family::kLatency)));
  std::string first = keys::latency_cell(partition, keys::Level::kHour, 0);
  std::string_view series = std::string_view(first).substr(0, first.size() - 4);
  for (cells->Seek(first); unknown > 0 && cells->Valid() && cells->key().ToStringView().starts_with(series);
       cells->Next()) {
    unknown -= engine.catalogue.mark_used(keys::last_be32(cells->key().ToStringView()), partition) ? 1 : 0;
  }
  return cells->status();
}

void mark_used(Engine& engine) {
  ViewPtr view = engine.views.get();
  std::vector<uint32_t> partitions = view->partitions();
  std::vector<uint32_t> ids = engine.catalogue.operations(std::nullopt, std::nullopt);
  size_t unknown = ids.size();
  for (uint32_t partition : partitions | std::views::reverse) {
    rocksdb::Status status = mark_used(engine, partition, unknown);
    if (status.ok()) continue;
    // Then nothing is given back before this partition goes.
    log_warning("cannot read which operations are in use: " + status.ToString());
    for (uint32_t id : ids) engine.catalogue.mark_used(id, partition);
    return;
  }
}

}  // namespace

Result<> load_operations(Engine& engine) {
  if (Result<> loaded = load_next(engine); !loaded) return loaded;
  Result<bool> current = load_rows(engine);
  if (!current) return current.error();
  if (!*current) {
    if (Result<> rewritten = rewrite_rows(engine); !rewritten) return rewritten;
  }
  mark_used(engine);
  engine.catalogue.retire(engine.live->oldest());
  return {};
}

void forget_operations(Engine& engine) {
  std::vector<uint32_t> forgotten = engine.catalogue.forget_retired();
  if (forgotten.empty()) return;
  Database& database = *engine.database;
  rocksdb::WriteBatch batch;
  for (uint32_t id : forgotten) batch.Delete(database.family(Family::kOperation), keys::operation(id));
  std::string next;
  append_be32(next, engine.catalogue.next());
  batch.Put(database.family(Family::kDefault), keys::kNextOperation, next);
  // Not synced: a start finds that nothing uses them, and does this again.
  rocksdb::Status status = database.db().Write(rocksdb::WriteOptions(), &batch);
  if (!status.ok()) log_warning("cannot delete operations that nothing uses yet: " + status.ToString());
}

}  // namespace fathom::store
