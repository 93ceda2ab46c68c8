// The end of a simulation: the disk damages data that it had made durable. Nothing may be lost without a report.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "store/captures/capture_counters.h"
#include "store/rocks/counters.h"
#include "store/testing/simulation.h"
#include "store/wal/log_files.h"
#include "store/wal/log_scan.h"
#include "store/wal/synced_logs.h"

namespace fathom::store::testing {

namespace {

constexpr size_t kSectorBytes = 512;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// RocksDB's files and the contents of captures; RocksDB's info logs and its lock hold no data.
std::vector<std::filesystem::path> data_files(const std::string& directory) {
  std::vector<std::filesystem::path> files;
  for (const char* part : {"/store", "/captures"}) {
    if (!std::filesystem::exists(directory + part)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory + part)) {
      const std::string name = entry.path().filename();
      if (entry.is_regular_file() && entry.file_size() > 0 && !name.starts_with("LO")) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// One flipped bit, one sector of zeros, one sector that belongs to another place, the lost end of a manifest or a log,
// or a lost log.
struct RestDamage {
  std::string text;
  bool is_last_write = false;  // the end of a log: the disk never wrote it
};

struct Place {
  std::filesystem::path path;
  size_t at = 0;
};

// Of a log mostly its records, because it may be filled behind them.
size_t bytes_to_damage(const std::filesystem::path& path, std::mt19937_64& random) {
  const size_t size = std::filesystem::file_size(path);
  if (path.extension() != ".log" || random() % 8 == 0) return size;
  LogVisitor ignore;
  const Result<LogSummary> log = scan_log(*rocksdb::Env::Default(), path, ignore);
  return log && log->end > 0 ? log->end : size;
}

// Mostly the newest log or the end of a manifest, because most bytes are in sorted files.
Place choose_place(const std::vector<std::filesystem::path>& files, std::mt19937_64& random) {
  const uint64_t kind = random() % 8;
  const char* wanted = kind < 4 ? ".log" : kind == 4 ? "MANIFEST" : "/";
  std::filesystem::path path = files[random() % files.size()];
  for (const std::filesystem::path& other : files) {
    if (other.filename().string().find(wanted) != std::string::npos) path = other;
  }
  const size_t size = bytes_to_damage(path, random);
  return {path, kind == 4 ? size - 1 - random() % std::min<size_t>(size, 100) : random() % size};
}

RestDamage delete_log(const std::filesystem::path& log) {
  std::filesystem::remove(log);
  return {"deleted " + log.filename().string(), false};
}

// Behind the listed bytes, nothing shows that there were records.
RestDamage cut_log(const std::filesystem::path& log, uint64_t at) {
  const SyncedLogs synced = SyncedLogs::read(*rocksdb::Env::Default(), log.parent_path());
  std::filesystem::resize_file(log, at);
  return {"lost end from " + std::to_string(at) + " of " + log.filename().string(),
          at >= synced.synced_bytes(log_number(log.filename().string()).value_or(0))};
}

RestDamage damage_file(const std::string& directory, std::mt19937_64& random) {
  const std::vector<std::filesystem::path> files = data_files(directory);
  const auto [path, at] = choose_place(files, random);
  std::string bytes = read_file(path);
  const size_t sector = at / kSectorBytes * kSectorBytes, size = std::min(kSectorBytes, bytes.size() - sector);
  const std::filesystem::path source = files[random() % files.size()];
  const uint64_t kind = random() % 3;
  if (path.extension() == ".log" && random() % 4 == 0) return delete_log(path);
  if (path.extension() == ".log" && random() % 4 == 0) return cut_log(path, at);
  if (path.filename().string().starts_with("MANIFEST") && random() % 2 == 0) {
    std::filesystem::resize_file(path, at);
    return {"lost end from " + std::to_string(at) + " of " + path.filename().string(), false};
  }
  if (kind == 0) bytes[at] ^= static_cast<char>(1 << random() % 8);
  if (kind == 1) bytes.replace(sector, size, std::string(size, 0));
  if (kind == 2) {
    const std::string other = read_file(source);
    const std::string part = other.substr(random() % (other.size() / kSectorBytes + 1) * kSectorBytes, size);
    bytes.replace(sector, part.size(), part);
  }
  write_file(path, bytes);
  const char* kinds[] = {"flipped bit", "lost sector", "misdirected sector"};
  const bool is_last_write = kind != 0 && path.extension() == ".log" && sector + size == bytes.size();
  return {std::string(kinds[kind]) + " at " + std::to_string(at) + " of " + path.filename().string(), is_last_write};
}

std::string numbers_of(const std::vector<SentBatch*>& batches) {
  std::string text;
  for (const SentBatch* sent : batches) text += " " + std::to_string(sent->marker);
  return text;
}

}  // namespace

void Simulation::damage() {
  ++result_.damaged;
  counted_batches_ = lost_batches().value();
  counted_captures_ = lost_captures().value();
  counted_left_out_ = seals_without_older_spans().value();
  starts_left_ = 1 + below(2);
  rig_.set_wall(rig_.wall_unix_nano());  // it may stand still
  chance(25) ? damage_while_running() : damage_at_rest();
  if (!has_failed()) start();
}

void Simulation::work_a_little() {
  for (uint64_t i = 1 + below(8); i > 0 && !has_failed(); --i) chance(85) ? append() : send_capture();
}

void Simulation::damage_while_running() {
  write_was_lost_ = chance(50);
  note(write_was_lost_ ? "a write will be lost" : "a write will be damaged");
  rig_.disk().damage_write(
      write_was_lost_ ? FaultFileSystem::WriteDamage::kLost : FaultFileSystem::WriteDamage::kFlipped, below(60),
      random_());
  work_a_little();
  // A failure is a report of the damage.
  if (chance(50)) note(rig_.store().settle().ok() ? "settle" : "settling fails");
  stop(chance(50) ? Stop::kKill : Stop::kClose);
}

// Sometimes the process ends while it writes files from the log, so that they have a part of what the log has.
void Simulation::damage_at_rest() {
  work_a_little();
  if (has_failed()) return;
  if (chance(30)) {
    rig_.disk().crash_after(below(60));
    note(rig_.store().settle().ok() ? "settle" : "settling fails");
  }
  stop(chance(50) ? Stop::kKill : Stop::kClose);
  const RestDamage done = damage_file(rig_.path(), random_);
  write_was_lost_ = done.is_last_write;
  note(done.text);
}

void Simulation::continue_after_damage() {
  if (starts_left_ == 0) {
    phase_ = Phase::kOver;
    return;
  }
  --starts_left_;
  write_was_lost_ = false;
  rig_.scheduler().sleep(1);  // what is received now is later than every loss
  resend_after_damage();
  for (uint64_t i = below(4); i > 0 && !has_failed(); --i) chance(80) ? append() : send_capture();
  if (has_failed()) return;
  if (chance(30)) note(rig_.store().settle().ok() ? "settle" : "settling fails");
  if (chance(20)) arm_crash();
  if (!rig_.disk().is_crashed()) restart();
}

// A sender that still has a lost batch or capture sends it again, and the store must take it.
void Simulation::resend_after_damage() {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < batches_.all().size(); ++i) {
    const SentBatch& sent = batches_.all()[i];
    if (is_recent(sent.made) && !sent.may_be_dropped && (sent.is_lost || chance(20))) numbers.push_back(i);
  }
  if (!numbers.empty()) send(numbers);
  for (SentCapture& sent : captures_.all()) {
    if (sent.is_lost && !sent.may_be_dropped) send(sent);
  }
}

// A start that fails is a report of the damage.
void Simulation::check_start_after_damage(const std::string& fault) {
  note(fault.empty() ? "start" : "the start fails: " + fault);
  if (fault.empty()) return check_after_damage();
  result_.reported = 1;
  phase_ = Phase::kOver;
}

void Simulation::check_after_damage() {
  allow_drops(keep_nano_);
  for (const bool settled : {false, true}) {
    if (settled && !rig_.store().settle().ok()) return;
    SimulatedBatches::Presence presence = batches_.find(rig_.store());
    SimulatedCaptures::Presence captures = captures_.find(rig_.store().captures());
    if (rig_.disk().is_crashed()) return;
    result_.doubled += presence.repeated;
    if (presence.repeated > 0) fail(std::to_string(presence.repeated) + " batches are stored more than once");
    if (!presence.fault.empty()) fail(presence.fault);
    if (!captures.fault.empty()) fail(captures.fault);
    result_.reported |= !settled && (!presence.unreadable.empty() || captures.unreadable > 0 ||
                                     !presence.missing.empty() || !captures.missing.empty());
    excuse_missing(presence, captures);
    if (has_failed()) return;
    // What was sealed without its older spans is reported, and differs: its trace is oversized.
    if (seals_without_older_spans().value() > counted_left_out_) return void(result_.reported = 1);
    // An answer that is an error is a report of the damage.
    const SimulatedBatches::Comparison compared = batches_.compare(rig_.store(), presence, acknowledgements_);
    if (!compared.difference.empty() && !rig_.disk().is_crashed()) return fail(compared.difference);
  }
}

// `missing` things were acknowledged together with this one or later.
bool Simulation::is_in_last_write(uint64_t order, uint64_t missing) const {
  return write_was_lost_ && order + missing > acknowledgements_;
}

bool Simulation::is_covered(const SentBatch& sent, const Loss& loss) {
  const AgeClock& clock = *rig_.store().clock();
  return clock.unix_of(sent.first_stamp_nano) <= loss.last_received_unix_nano &&
         clock.unix_of(sent.last_stamp_nano) >= loss.first_received_unix_nano;
}

// Each missing batch must be within the time of a recorded loss, and each missing capture must be counted.
void Simulation::excuse_missing(SimulatedBatches::Presence& presence, SimulatedCaptures::Presence& captures) {
  const uint64_t missing = presence.missing.size() + captures.missing.size();
  for (SentCapture* sent : captures.missing) {
    sent->is_lost = true;
    if (is_in_last_write(sent->order, missing)) {
      ++result_.undetectable;
    } else {
      ++lost_captures_;
    }
  }
  if (lost_captures_ > lost_captures().value() - counted_captures_) return report_lost(captures);
  std::erase_if(presence.missing, [&](SentBatch* sent) {
    const bool is_undetectable = is_in_last_write(sent->order, missing);
    result_.undetectable += is_undetectable;
    sent->is_lost |= is_undetectable;
    return is_undetectable;
  });
  excuse(presence.missing);
}

void Simulation::excuse(const std::vector<SentBatch*>& missing) {
  const std::vector<Loss> losses = rig_.store().losses();
  std::vector<uint64_t> alone(losses.size());  // missing batches that no other loss covers
  for (SentBatch* sent : missing) {
    std::vector<size_t> covering;
    for (size_t i = 0; i < losses.size(); ++i) {
      if (is_covered(*sent, losses[i])) covering.push_back(i);
    }
    if (covering.empty()) {
      ++result_.silent_losses;
      fail("an acknowledged batch is missing, and no loss has its time: " + std::to_string(sent->marker));
    }
    if (covering.size() == 1) ++alone[covering.front()];
    sent->is_lost = true;
  }
  lost_batches_ += missing.size();
  result_.lost += missing.size();
  if (!missing.empty()) note("lost:" + numbers_of(missing));
  bool is_bounded = true;
  for (size_t i = 0; i < losses.size(); ++i) {
    is_bounded &= losses[i].most_batches.has_value();
    if (alone[i] > losses[i].most_batches.value_or(UINT64_MAX)) fail("a loss has more batches than its upper bound");
  }
  const uint64_t counted = lost_batches().value() - counted_batches_;
  if (is_bounded && lost_batches_ > counted) fail("more batches are missing than were counted");
}

}  // namespace fathom::store::testing
