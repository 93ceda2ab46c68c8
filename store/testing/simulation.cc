#include "store/testing/simulation.h"

#include <filesystem>

#include "base/time.h"

namespace fathom::store::testing {

namespace {

constexpr uint64_t kYear = 365 * 24 * kNanosPerHour;

}  // namespace

SimulationResult& SimulationResult::operator+=(const SimulationResult& other) {
  silent_losses += other.silent_losses;
  doubled += other.doubled;
  acknowledged += other.acknowledged;
  acknowledged_captures += other.acknowledged_captures;
  restarts += other.restarts;
  checks += other.checks;
  damaged += other.damaged;
  reported += other.reported;
  undetectable += other.undetectable;
  return *this;
}

Simulation::Simulation(uint64_t seed, SimulationOptions options)
    : seed_(seed),
      options_(std::move(options)),
      keep_nano_(seed % 2 == 0 ? 6 * kNanosPerHour : 0),
      random_(seed),
      rig_(seed, options_.durability),
      batches_(seed) {
  rig_.keep(keep_nano_);
}

SimulationResult Simulation::run() {
  if (chance(10)) rig_.set_wall(kNanosPerSecond);  // a machine without a clock boots in 1970
  if (std::string fault = rig_.open(); !fault.empty()) fail("a new store does not open: " + fault);
  for (uint64_t i = 0; i < options_.steps && !has_failed(); ++i) step();
  if (!has_failed()) mend_disk();
  if (!has_failed()) stop_and_open(Stop::kPowerCut);
  if (!has_failed() && options_.damages && chance(50)) damage();
  if (has_failed()) describe_failure();
  rig_.stop(Stop::kKill, random_);
  return result_;
}

void Simulation::fail(const std::string& fault) {
  if (!has_failed()) result_.fault = "seed " + std::to_string(seed_) + ": " + fault;
}

void Simulation::note(const std::string& event) {
  constexpr size_t kNoted = 60;
  if (history_.size() == kNoted) history_.pop_front();
  history_.push_back(event);
}

void Simulation::describe_failure() {
  result_.fault += "\nthe last events:\n";
  for (const std::string& event : history_) result_.fault += "  " + event + "\n";
  save_image();
}

void Simulation::step() {
  static const std::vector<std::pair<uint64_t, Step>> kSteps = {
      {34, &Simulation::append},        {8, &Simulation::resend},    {3, &Simulation::send_capture},
      {1, &Simulation::resend_capture}, {8, &Simulation::pass_time}, {4, &Simulation::suspend},
      {4, &Simulation::step_clock},     {3, &Simulation::settle},    {2, &Simulation::drop},
      {5, &Simulation::restart},        {5, &Simulation::arm_crash}, {6, &Simulation::break_disk},
      {10, &Simulation::mend_disk},     {7, &Simulation::check}};
  uint64_t at = below(100);
  for (const auto& [weight, run] : kSteps) {
    if (at < weight) {
      (this->*run)();
      break;
    }
    at -= weight;
  }
  if (!has_failed() && rig_.disk().is_crashed()) stop_and_open(Stop::kPowerCut);
}

void Simulation::append() {
  std::vector<size_t> numbers;
  for (uint64_t count = 1 + below(4); count > 0; --count) {
    numbers.push_back(batches_.all().size());
    batches_.make(now());
  }
  send(numbers);
}

// As exporters do: a batch whose acknowledgement did not arrive, and sometimes one that was acknowledged.
void Simulation::resend() {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < batches_.all().size(); ++i) {
    const SentBatch& sent = batches_.all()[i];
    if (is_recent(sent) && !sent.may_be_dropped) numbers.push_back(i);
  }
  if (numbers.empty()) return append();
  send({numbers[below(numbers.size())]});
}

// An identity is kept for an hour.
bool Simulation::is_recent(const SentBatch& sent) const {
  return !may_be_older(sent.made, kNanosPerHour / 2);
}

bool Simulation::may_be_older(const SimulatedTime& made, uint64_t age_nano) const {
  return !made.is_age_known(now()) || made.age_nano(now()) >= age_nano;
}

void Simulation::allow_drops(uint64_t age_nano) {
  if (age_nano == 0) return;
  for (SentBatch& sent : batches_.all()) sent.may_be_dropped |= may_be_older(sent.made, age_nano);
  for (SentCapture& sent : captures_.all()) sent.may_be_dropped |= may_be_older(sent.made, age_nano);
}

void Simulation::send_capture() {
  send(captures_.make(now()));
}

void Simulation::resend_capture() {
  if (captures_.all().empty()) return send_capture();
  SentCapture& sent = captures_.all()[below(captures_.all().size())];
  // What was dropped is not remembered.
  if (!sent.may_be_dropped) send(sent);
}

void Simulation::send(SentCapture& sent) {
  const bool was_acknowledged = sent.acknowledged;
  const AppendResult result = captures_.send(rig_.store().captures(), sent);
  note("capture " + std::to_string(sent.number) + ": " +
       (result.outcome == AppendOutcome::kDurable ? "acknowledged" : result.message));
  result_.acknowledged_captures += sent.acknowledged && !was_acknowledged;
}

void Simulation::send(const std::vector<size_t>& numbers) {
  std::vector<BatchPtr> batches;
  batches.reserve(numbers.size());
  for (size_t number : numbers) batches.push_back(batches_.all()[number].batch);
  const std::vector<AppendResult> results = rig_.append(batches);
  for (size_t i = 0; i < numbers.size(); ++i) {
    note("append " + std::to_string(batches_.all()[numbers[i]].marker) + ": " +
         (results[i].outcome == AppendOutcome::kDurable ? "acknowledged" : results[i].message));
    if (results[i].outcome != AppendOutcome::kDurable) continue;
    SentBatch& sent = batches_.all()[numbers[i]];
    result_.acknowledged += !sent.acknowledged;
    if (sent.acknowledged && !results[i].duplicate) {
      ++result_.doubled;
      fail("an acknowledged batch was stored again: " + std::to_string(sent.marker));
    }
    batches_.acknowledge(sent);
  }
}

void Simulation::pass_time() {
  constexpr uint64_t kLongest[] = {kNanosPerSecond / 10, 3 * kNanosPerSecond, 20 * kNanosPerSecond};
  rig_.scheduler().sleep(1 + below(kLongest[below(3)]));
}

void Simulation::suspend() {
  note("suspend the host");
  rig_.suspend(1 + below(chance(50) ? kNanosPerMinute : 3 * kNanosPerHour));
}

void Simulation::step_clock() {
  ++clock_steps_;
  const uint64_t wall = rig_.wall_unix_nano();
  note("step the wall clock");
  const uint64_t sizes[] = {kNanosPerSecond, kNanosPerMinute, kNanosPerHour, 25 * kNanosPerHour, kYear, 10 * kYear};
  const uint64_t size = sizes[below(6)];
  if (chance(10)) return rig_.stall_wall();
  if (chance(10)) return rig_.set_wall(kTestNow);
  if (chance(50)) return rig_.set_wall(wall + std::min(size, UINT64_MAX / 2 - wall));
  rig_.set_wall(std::max(wall, size + kNanosPerSecond) - size);
}

void Simulation::settle() {
  const bool settled = rig_.store().settle().ok();
  note(settled ? "settle" : "settling fails");
  if (!settled && !disk_is_broken_ && !rig_.disk().is_crashed()) stop_and_open(Stop::kClose);
}

// An operator keeps less for a while.
void Simulation::drop() {
  const uint64_t keep_nano = kNanosPerMinute + below(3) * kNanosPerHour;
  note("keep " + std::to_string(keep_nano / kNanosPerHour) + " hours");
  rig_.keep(keep_nano);
  rig_.scheduler().sleep(30 * kNanosPerSecond);
  allow_drops(keep_nano);
  rig_.keep(keep_nano_);
}

void Simulation::restart() {
  constexpr Stop kHow[] = {Stop::kClose, Stop::kKill, Stop::kPowerCut};
  stop_and_open(kHow[below(3)]);
}

void Simulation::arm_crash() {
  const uint64_t changes = below(chance(50) ? 12 : 120);
  note("crash after " + std::to_string(changes) + " changes of the disk");
  rig_.disk().crash_after(changes);
}

void Simulation::break_disk() {
  disk_is_broken_ = true;
  FaultFileSystem& disk = rig_.disk();
  const uint64_t kind = below(4);
  const char* kinds[] = {"disk is full", "syncs fail", "writes fail", "reads fail"};
  note(kinds[kind]);
  switch (kind) {
    case 0:
      return disk.set_free_bytes(below(20'000));
    case 1:
      return disk.fail_syncs(true);
    case 2:
      return disk.fail_writes(true);
    default:
      return disk.fail_reads(true);
  }
}

// RocksDB goes on by itself after most faults. After the others only another start helps, as in the server.
void Simulation::mend_disk() {
  if (!disk_is_broken_) return;
  note("mend the disk");
  disk_is_broken_ = false;
  FaultFileSystem& disk = rig_.disk();
  disk.release_space();
  disk.fail_syncs(false);
  disk.fail_writes(false);
  disk.fail_reads(false);
  rig_.scheduler().sleep(30 * kNanosPerSecond);
  if (!rig_.store().stats().writable || chance(30)) stop_and_open(Stop::kClose);
}

void Simulation::stop_and_open(Stop how) {
  const char* kinds[] = {"close", "kill", "power cut"};
  note(kinds[static_cast<int>(how)]);
  if (disk_is_broken_) {
    rig_.disk().release_space();
    rig_.disk().fail_syncs(false);
    rig_.disk().fail_writes(false);
    rig_.disk().fail_reads(false);
    disk_is_broken_ = false;
  }
  stop(how);
  ++result_.restarts;
  open_after_crashes();
  if (!has_failed()) check();
}

void Simulation::stop(Stop how) {
  const uint64_t boots = rig_.boots();
  rig_.stop(how, random_);
  if (rig_.boots() != boots) steps_at_boot_ = clock_steps_;
}

// Some starts lose power themselves. The start after that keeps it.
void Simulation::open_after_crashes() {
  if (chance(20)) rig_.disk().crash_after(below(60));
  std::string fault = rig_.open();
  while (rig_.disk().is_crashed()) {
    stop(Stop::kPowerCut);
    fault = rig_.open();
  }
  if (!fault.empty()) fail("the store does not open: " + fault);
}

void Simulation::check() {
  if (disk_is_broken_ || rig_.disk().is_crashed()) return;
  ++result_.checks;
  allow_drops(keep_nano_);
  const SimulatedBatches::Presence presence = batches_.find(rig_.store());
  if (rig_.disk().is_crashed()) return;
  if (!presence.fault.empty()) fail(presence.fault);
  if (presence.unreadable > 0) fail(std::to_string(presence.unreadable) + " traces cannot be read");
  report_lost(presence);
  if (has_failed()) return;
  const std::string different = batches_.compare(rig_.store(), presence);
  if (!different.empty() && !rig_.disk().is_crashed()) fail(different);
  if (!has_failed()) check_captures();
}

void Simulation::check_captures() {
  const SimulatedCaptures::Presence presence = captures_.find(rig_.store().captures());
  if (rig_.disk().is_crashed()) return;
  if (!presence.fault.empty()) fail(presence.fault);
  if (presence.unreadable > 0) fail(std::to_string(presence.unreadable) + " captures cannot be read");
  report_lost(presence);
}

void Simulation::report_lost(const SimulatedBatches::Presence& presence) {
  result_.silent_losses += presence.missing.size();
  result_.doubled += presence.repeated;
  if (presence.repeated > 0) fail(std::to_string(presence.repeated) + " batches are stored more than once");
  for (const SentBatch* sent : presence.missing) fail("an acknowledged batch is lost: " + std::to_string(sent->marker));
}

void Simulation::report_lost(const SimulatedCaptures::Presence& presence) {
  result_.silent_losses += presence.missing.size();
  for (const SentCapture* sent : presence.missing) {
    fail("an acknowledged capture is lost: " + std::to_string(sent->number));
  }
}

void Simulation::save_image() {
  if (options_.save.empty()) return;
  const std::string directory = options_.save + "/seed-" + std::to_string(seed_);
  std::error_code fault;
  std::filesystem::remove_all(directory, fault);
  std::filesystem::create_directories(directory);
  std::filesystem::copy(rig_.image(), directory + "/data", std::filesystem::copy_options::recursive, fault);
  batches_.write_expectation(directory + "/expected.txt");
  result_.fault += "The data directory before the last start is in " + directory + "; run --replay " + directory;
}

}  // namespace fathom::store::testing
