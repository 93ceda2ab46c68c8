#include "store/rocks/sealer.h"

#include <algorithm>
#include <tuple>

#include <rocksdb/sst_file_writer.h>

#include "store/rocks/counters.h"
#include "store/rocks/index_builder.h"
#include "store/rocks/keys.h"
#include "store/rocks/segment_rows.h"

namespace fathom::store {

namespace {

// One sorted file for one column family.
class FamilyFile {
 public:
  FamilyFile(Database& database, Family family, uint32_t segment)
      : database_(database),
        family_(family),
        path_(database.ingest_path(std::to_string(segment) + "-" + std::to_string(static_cast<int>(family)))),
        writer_(rocksdb::EnvOptions(), database.file_options(family), database.family(family)) {
    // An earlier attempt may have left its file, and RocksDB a second name of that in the store: a new file takes its
    // place, and the old one keeps its content.
    rocksdb::Status deleted = database.db().GetEnv()->DeleteFile(path_);
    status_ = deleted.ok() || deleted.IsNotFound() || deleted.IsPathNotFound() ? writer_.Open(path_) : deleted;
  }

  void put(const std::string& key, std::string_view value) { note(writer_.Put(key, {value.data(), value.size()})); }
  void merge(const std::string& key, std::string_view value) { note(writer_.Merge(key, {value.data(), value.size()})); }

  Result<rocksdb::IngestExternalFileArg> finish(uint64_t& bytes) {
    rocksdb::ExternalSstFileInfo info;
    note(writer_.Finish(&info));
    if (!status_.ok()) return from_status(status_, "write " + path_);
    bytes += info.file_size;
    rocksdb::IngestExternalFileArg arg;
    arg.column_family = database_.family(family_);
    arg.external_files = {path_};
    arg.options.move_files = true;
    arg.options.write_global_seqno = false;
    return arg;
  }

 private:
  void note(const rocksdb::Status& status) {
    if (status_.ok()) status_ = status;
  }

  Database& database_;
  Family family_;
  std::string path_;
  rocksdb::SstFileWriter writer_;
  rocksdb::Status status_;
};

SegmentInfo describe(const SealInput& input, const SegmentRows& rows) {
  const Generation& generation = input.generation;
  SegmentInfo info;
  info.partition = generation.partition();
  info.id = input.segment;
  info.first_sequence = generation.sources().front().sequence;
  info.last_sequence = generation.sources().back().sequence;
  info.first_received_unix_nano = UINT64_MAX;
  for (const Generation::Source& source : generation.sources()) {
    info.first_received_unix_nano = std::min(info.first_received_unix_nano, source.received_unix_nano);
    info.last_received_unix_nano = std::max(info.last_received_unix_nano, source.received_unix_nano);
  }
  if (input.received_unix_nano) {
    std::tie(info.first_received_unix_nano, info.last_received_unix_nano) = *input.received_unix_nano;
  }
  info.rows = rows.rows.size();
  info.traces = rows.traces.size();
  info.min_start_unix_nano = generation.min_start_unix_nano();
  info.max_start_unix_nano = generation.max_start_unix_nano();
  for (const Generation::Row* row : rows.sources) {
    info.max_span_duration_nano = std::max(info.max_span_duration_nano, row->duration_nano);
  }
  for (const SegmentTrace& trace : rows.traces) {
    if (trace.summary.oversized) continue;
    // The generation does not know it if a look-up failed.
    info.min_start_unix_nano = std::min(info.min_start_unix_nano, trace.summary.start_unix_nano);
    info.max_trace_duration_nano = std::max(info.max_trace_duration_nano, trace.summary.duration_nano);
  }
  return info;
}

void index_spans(const SegmentRows& rows, const Generation& generation, IndexBuilder& index) {
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const Generation::Row& row = *rows.sources[i];
    const Batch::Row& stored = *rows.rows[i].row;
    index.add_span(row.operation, {row.duration_nano, row.start_unix_nano, stored.trace_id, stored.span_id,
                                   rows.rows[i].sequence, row.operation, row.error});
  }
  for (const Generation::Row& row : generation.rows()) {
    index.add_latency(row.operation, row.start_unix_nano, row.duration_nano, row.error);
  }
}

void index_traces(const SegmentRows& rows, IndexBuilder& index) {
  std::vector<uint32_t> operations;
  for (size_t i = 0; i < rows.traces.size(); ++i) {
    const SegmentTrace& trace = rows.traces[i];
    const TraceSummary& summary = trace.summary;
    if (summary.oversized) continue;  // oversized_traces.h
    operations = rows.older_operations[i];
    for (uint32_t row = 0; row < trace.row_count; ++row)
      operations.push_back(rows.rows[trace.first_row + row].operation);
    std::sort(operations.begin(), operations.end());
    operations.erase(std::unique(operations.begin(), operations.end()), operations.end());
    SlowEntry entry{summary.duration_nano,  summary.start_unix_nano, trace.id,     SpanId{},
                    summary.first_sequence, summary.root_operation,  summary.error};
    for (uint32_t operation : operations) index.add_trace(operation, entry);
  }
}

GrownTraces grown_traces(const SegmentRows& rows) {
  GrownTraces grown;
  for (size_t i = 0; i < rows.traces.size(); ++i) {
    const SegmentTrace& trace = rows.traces[i];
    if (trace.summary.grown) grown.add(trace.id, trace.summary, rows.older_places[i]);
  }
  return grown;
}

// Writes and ingests everything that makes up a segment.
class SegmentFiles {
 public:
  SegmentFiles(Database& database, const SegmentInfo& info) : database_(database), info_(info) {}

  Result<> blocks(const SegmentRows& rows, const EncodedSegment& encoded) {
    FamilyFile file(database_, Family::kBlock, info_.id);
    for (const Chunk& chunk : encoded.chunks) {
      file.put(keys::chunk(info_.partition, info_.id, chunk.block, chunk.column), chunk.bytes);
    }
    file.put(grown_key(info_.partition, info_.id), grown_traces(rows).encode());
    file.put(directory_key(info_.partition, info_.id), encoded.directory);
    return add(file);
  }

  Result<> traces(const SegmentRows& rows, const EncodedSegment& encoded) {
    FamilyFile file(database_, Family::kTrace, info_.id);
    for (size_t i = 0; i < rows.traces.size(); ++i) {
      TracePart part{info_.partition, info_.id, encoded.first_block[i], rows.traces[i].summary, rows.tallies[i]};
      file.put(keys::trace(rows.traces[i].id, info_.partition, info_.id), encode_trace_part(part));
    }
    return add(file);
  }

  Result<> operands(Family family, const std::map<std::string, std::string>& operands) {
    FamilyFile file(database_, family, info_.id);
    for (const auto& [key, value] : operands) file.merge(key, value);
    return add(file);
  }

  // For the next start, which enters them in OversizedTraces.
  Result<> oversized(const SegmentRows& rows, const EncodedSegment& encoded) {
    std::vector<size_t> found;
    for (size_t i = 0; i < rows.traces.size(); ++i) {
      if (rows.traces[i].summary.oversized) found.push_back(i);
    }
    if (found.empty()) return {};
    FamilyFile file(database_, Family::kCorrected, info_.id);
    for (size_t i : found) {
      TracePart part{info_.partition, info_.id, encoded.first_block[i], rows.traces[i].summary, rows.tallies[i]};
      file.put(keys::straddle(info_.partition, rows.traces[i].id), encode_trace_part(part));
    }
    return add(file);
  }

  Result<> straddling(const SegmentRows& rows) {
    if (rows.straddling.empty()) return {};
    FamilyFile file(database_, Family::kStraddle, info_.id);
    for (const auto& [partition, id] : rows.straddling) file.put(keys::straddle(partition, id), "");
    return add(file);
  }

  Result<> record() {
    info_.bytes = bytes_;
    FamilyFile file(database_, Family::kSegment, info_.id);
    file.put(keys::segment(info_.partition, info_.id), info_.encode());
    return add(file);
  }

  Result<SegmentInfo> publish() {
    if (Result<> running = database_.check_not_stopped(); !running) return running.error();
    // The segment refers to operations by number. Damage to the log must not destroy their rows, because a later start
    // would reuse the numbers. Ingestion flushes the notes of corrected traces, whose deletion must not outlive the
    // corrections. Nor must it destroy the identities of sealed batches, which no start can make again.
    rocksdb::Status status =
        database_.flush({Family::kDefault, Family::kIdentity, Family::kOperation, Family::kCorrected});
    if (status.ok()) status = database_.ingest(args_);
    if (!status.ok()) return from_status(status, "ingest segment " + std::to_string(info_.id));
    return info_;
  }

 private:
  Result<> add(FamilyFile& file) {
    Result<rocksdb::IngestExternalFileArg> arg = file.finish(bytes_);
    if (!arg) return arg.error();
    args_.push_back(std::move(*arg));
    return {};
  }

  Database& database_;
  SegmentInfo info_;
  uint64_t bytes_ = 0;
  std::vector<rocksdb::IngestExternalFileArg> args_;
};

Result<SegmentInfo> write_segment(const SealInput& input, Database& database, const SegmentRows& rows) {
  IndexBuilder index(input.generation.partition(), input.catalogue);
  index_spans(rows, input.generation, index);
  index_traces(rows, index);
  SegmentFiles files(database, describe(input, rows));
  if (!rows.rows.empty()) {
    Result<EncodedSegment> encoded = encode_segment(rows.rows, rows.traces, input.segment_options);
    if (!encoded) return encoded.error();
    if (Result<> done = files.blocks(rows, *encoded); !done) return done.error();
    if (Result<> done = files.traces(rows, *encoded); !done) return done.error();
    if (Result<> done = files.straddling(rows); !done) return done.error();
    if (Result<> done = files.oversized(rows, *encoded); !done) return done.error();
    if (Result<> done = files.operands(Family::kSlow, index.slow_operands()); !done) return done.error();
  }
  if (Result<> done = files.operands(Family::kLatency, index.latency_operands()); !done) return done.error();
  if (Result<> done = files.record(); !done) return done.error();
  return files.publish();
}

// Before a reader can see the segment, in which it would not find them.
void note_oversized(const SegmentRows& rows, uint64_t last_sequence, OversizedTraces& oversized) {
  OversizedTraces::Map found;
  for (const SegmentTrace& trace : rows.traces) {
    if (trace.summary.oversized) found[trace.id] = {trace.summary, last_sequence};
  }
  oversized.note(found);
}

}  // namespace

Result<SegmentInfo> seal(const SealInput& input, const SealedContext& context, ViewPtr view) {
  QueryBudget unlimited;
  SealedReader older(context, std::move(view), unlimited);
  Result<SegmentRows> rows = segment_rows(input.generation, older, input.on_unreadable);
  if (!rows) return rows.error();
  Result<SegmentInfo> info = write_segment(input, context.database, *rows);
  seal_read_bytes().add(unlimited.spent_bytes());
  if (info) note_oversized(*rows, info->last_sequence, context.oversized);
  return info;
}

}  // namespace fathom::store
