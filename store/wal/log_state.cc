#include "store/wal/log_state.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "store/wal/log_files.h"
#include "store/wal/synced_logs.h"

namespace fathom::store {

namespace {

class SequenceReader : public LogVisitor {
 public:
  Result<> on_record(std::string_view record) override {
    sequences.push_back(sequences_of(record));
    return {};
  }

  LogSequences sequences;
};

// One log per file, in the same order.
struct ScannedLogs {
  std::vector<LogState> states;
  std::vector<LogSequences> sequences;
};

// Those of the list that do not exist are missing.
Result<std::vector<std::string>> names_of_logs(rocksdb::Env& env, const std::string& directory,
                                               const SyncedLogs& synced) {
  Result<std::vector<LogFile>> files = list_store_logs(env, directory);
  if (!files) return files.error();
  for (const uint64_t number : synced.numbers()) {
    const std::string name = log_name(number);
    if (std::ranges::find(*files, name, &LogFile::name) == files->end()) files->push_back({number, name});
  }
  std::ranges::sort(*files, {}, &LogFile::number);
  std::vector<std::string> names;
  for (const LogFile& file : *files) names.push_back(file.name);
  return names;
}

Result<ScannedLogs> scan_each(rocksdb::Env& env, const std::string& directory, const std::vector<std::string>& names) {
  ScannedLogs logs;
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    const bool exists = !env.FileExists(path).IsNotFound();
    SequenceReader reader;
    Result<LogSummary> found = exists ? scan_log(env, path, reader) : LogSummary();
    if (!found) return found.error();
    logs.states.push_back({.name = name, .summary = *found});
    logs.sequences.push_back(std::move(reader.sequences));
  }
  return logs;
}

// Scans the log again if records of it are in the wrong place.
Result<> leave_out_misplaced(rocksdb::Env& env, const std::string& directory, const LogSequences& sequences,
                             const SequenceRange& range, LogState& log) {
  log.misplaced = misplaced_in(sequences, range);
  if (log.misplaced.empty()) return {};
  if (misplaced_in(sequences, SequenceRange()) != log.misplaced) log.range = range;
  LogVisitor ignore;
  Result<LogSummary> found = scan_log(env, directory + "/" + log.name, ignore, log.misplaced);
  if (!found) return found.error();
  log.summary = *found;
  return {};
}

void find_cut_short(std::vector<LogState>& logs) {
  bool is_later_written = false;
  for (auto log = logs.rbegin(); log != logs.rend(); ++log) {
    const bool is_incomplete = log->summary.incomplete_from && !log->summary.has_all_marked();
    log->is_cut_short = is_later_written && is_incomplete;
    is_later_written |= log->summary.records > 0;
  }
}

// The log itself may have a later mark than the list.
void compare_with_list(const SyncedLogs& synced, LogState& log) {
  const std::optional<uint64_t> number = log_number(log.name);
  const bool is_listed = number && synced.has(*number);
  log.is_missing = is_listed && log.summary.records == 0 && !log.is_damaged();
  const uint64_t listed_bytes = is_listed ? synced.synced_bytes(*number) : 0;
  const uint64_t synced_bytes = std::max(listed_bytes, log.summary.marked_end.value_or(0));
  if (log.is_missing || log.summary.intact_end() >= synced_bytes) return;
  log.is_cut_short = true;
  log.missing_bytes = synced_bytes - std::min(synced_bytes, log.summary.end);
}

}  // namespace

Result<std::vector<LogState>> scan_logs(rocksdb::Env& env, const std::string& directory) {
  const SyncedLogs synced = SyncedLogs::read(env, directory);
  Result<std::vector<std::string>> names = names_of_logs(env, directory, synced);
  if (!names) return names.error();
  Result<ScannedLogs> scanned = scan_each(env, directory, *names);
  if (!scanned) return scanned.error();
  std::vector<LogState>& logs = scanned->states;
  const std::vector<SequenceRange> ranges = ranges_of(scanned->sequences);
  for (size_t at = 0; at < logs.size(); ++at) {
    Result<> done = leave_out_misplaced(env, directory, scanned->sequences[at], ranges[at], logs[at]);
    if (!done) return done.error();
  }
  find_cut_short(logs);
  for (LogState& log : logs) compare_with_list(synced, log);
  return std::move(logs);
}

Result<LogSequences> read_sequences(rocksdb::Env& env, const std::string& path) {
  SequenceReader reader;
  Result<LogSummary> scanned = scan_log(env, path, reader);
  return scanned ? Result<LogSequences>(std::move(reader.sequences)) : scanned.error();
}

}  // namespace fathom::store
