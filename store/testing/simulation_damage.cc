// The end of a simulation: the disk damages data that it had made durable. Nothing may be lost without a report.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "store/rocks/counters.h"
#include "store/testing/simulation.h"

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

// One flipped bit, one sector of zeros, or one sector that belongs to another place.
struct RestDamage {
  std::string text;
  bool is_last_write = false;  // a sector at the end of a log: the disk never wrote it
};

RestDamage damage_at_rest(const std::string& directory, std::mt19937_64& random) {
  const std::vector<std::filesystem::path> files = data_files(directory);
  const std::filesystem::path& path = files[random() % files.size()];
  std::string bytes = read_file(path);
  const size_t at = random() % bytes.size();
  const size_t sector = at / kSectorBytes * kSectorBytes, size = std::min(kSectorBytes, bytes.size() - sector);
  const uint64_t kind = random() % 3;
  if (kind == 0) bytes[at] ^= static_cast<char>(1 << random() % 8);
  if (kind == 1) bytes.replace(sector, size, std::string(size, 0));
  if (kind == 2) {
    const std::string other = read_file(files[random() % files.size()]);
    const std::string part = other.substr(random() % (other.size() / kSectorBytes + 1) * kSectorBytes, size);
    bytes.replace(sector, part.size(), part);
  }
  write_file(path, bytes);
  const char* kinds[] = {"flipped bit", "lost sector", "misdirected sector"};
  const bool is_last_write = kind != 0 && path.extension() == ".log" && sector + size == bytes.size();
  return {std::string(kinds[kind]) + " at " + std::to_string(at) + " of " + path.filename().string(), is_last_write};
}

}  // namespace

void Simulation::damage() {
  ++result_.damaged;
  const uint64_t counted = lost_batches().value();
  std::string what = "a damaged write";
  if (chance(40)) {
    damage_while_running();
  } else {
    for (uint64_t i = 3 + below(10); i > 0 && !has_failed(); --i) append();
    stop(chance(50) ? Stop::kKill : Stop::kClose);
    RestDamage done = damage_at_rest(rig_.path(), random_);
    what = std::move(done.text);
    write_was_lost_ = done.is_last_write;
  }
  if (has_failed()) return;
  if (!rig_.open().empty()) {
    ++result_.reported;
    return;
  }
  check_damaged(counted);
  if (has_failed()) result_.fault += " (" + what + ")";
}

void Simulation::damage_while_running() {
  write_was_lost_ = chance(50);
  rig_.disk().damage_write(
      write_was_lost_ ? FaultFileSystem::WriteDamage::kLost : FaultFileSystem::WriteDamage::kFlipped, below(60),
      random_());
  for (uint64_t i = 3 + below(10); i > 0; --i) append();
  if (chance(50)) {
    // A failure is a report of the damage.
    [[maybe_unused]] Result<> settled = rig_.store().settle();
  }
  stop(chance(50) ? Stop::kKill : Stop::kClose);
}

void Simulation::check_damaged(uint64_t counted_before) {
  allow_drops(keep_nano_);
  for (const bool settled : {false, true}) {
    if (settled && !rig_.store().settle().ok()) return;
    const SimulatedBatches::Presence presence = batches_.find(rig_.store());
    result_.doubled += presence.repeated;
    if (presence.repeated > 0) fail(std::to_string(presence.repeated) + " batches are stored more than once");
    result_.reported += !settled && (presence.unreadable > 0 || !presence.missing.empty());
    if (settled) resend_lost(presence);
    const SimulatedCaptures::Presence captures = captures_.find(rig_.store().captures());
    if (!captures.fault.empty()) fail(captures.fault);
    result_.reported += !settled && captures.unreadable > 0;
    const uint64_t counted = lost_batches().value() - counted_before;
    if (!is_covered(captures.missing.size(), counted)) return report_lost(captures);
    if (is_covered(presence.missing.size() + captures.missing.size(), counted)) continue;
    if (write_was_lost_ && batches_.is_newest(presence.missing)) {
      result_.undetectable += presence.missing.size();
      return;
    }
    return report_lost(presence);
  }
}

// A sender that still has a lost batch sends it again, and the store must take it.
void Simulation::resend_lost(const SimulatedBatches::Presence& presence) {
  for (const SentBatch* sent : presence.missing) {
    if (!is_recent(*sent)) continue;
    const AppendResult again = rig_.append({sent->batch}).front();
    if (again.outcome != AppendOutcome::kDurable || !again.duplicate) continue;
    ++result_.silent_losses;
    fail("a lost batch is taken for a duplicate: " + std::to_string(sent->marker));
  }
}

// A loss without an upper bound covers any number of batches.
bool Simulation::is_covered(uint64_t missing, uint64_t counted) {
  const std::vector<Loss> losses = rig_.store().losses();
  const bool is_unbounded =
      std::any_of(losses.begin(), losses.end(), [](const Loss& loss) { return !loss.most_batches; });
  return is_unbounded || missing <= counted;
}

}  // namespace fathom::store::testing
