#include "store/testing/simulation.h"

#include <utility>

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
  lost += other.lost;
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
  start();
  return finish();
}

SimulationResult Simulation::finish() {
  while (!has_failed() && phase_ != Phase::kOver) advance();
  if (has_failed()) describe_failure();
  rig_.stop(Stop::kKill, random_);
  return result_;
}

// A crash within a step ends the process, and sometimes the power fails with it.
void Simulation::advance() {
  if (rig_.disk().is_crashed()) return stop_and_open(chance(50) ? Stop::kKill : Stop::kPowerCut);
  switch (phase_) {
    case Phase::kSteps:
      if (steps_done_ == options_.steps) {
        phase_ = Phase::kMend;
        return;
      }
      ++steps_done_;
      return std::exchange(retries_next_, false) ? retry() : step();
    case Phase::kMend:
      phase_ = Phase::kLastStart;
      return mend_disk();
    case Phase::kLastStart:
      phase_ = options_.damages && chance(70) ? Phase::kDamage : Phase::kOver;
      return stop_and_open(Stop::kPowerCut);
    case Phase::kDamage:
      phase_ = Phase::kAfterDamage;
      return damage();
    default:
      return continue_after_damage();
  }
}

void Simulation::fail(const std::string& fault) {
  if (!has_failed()) result_.fault = "seed " + std::to_string(seed_) + ": " + fault;
}

void Simulation::note(const std::string& event) {
  constexpr size_t kNoted = 60;
  if (history_.size() == kNoted) history_.pop_front();
  history_.push_back(event);
}

void Simulation::step() {
  static const std::vector<std::pair<uint64_t, Step>> kSteps = {
      {36, &Simulation::append},        {8, &Simulation::resend},    {3, &Simulation::send_capture},
      {1, &Simulation::resend_capture}, {8, &Simulation::pass_time}, {4, &Simulation::suspend},
      {4, &Simulation::step_clock},     {3, &Simulation::settle},    {2, &Simulation::drop},
      {3, &Simulation::restart},        {5, &Simulation::arm_crash}, {6, &Simulation::break_disk},
      {10, &Simulation::mend_disk},     {7, &Simulation::check}};
  uint64_t at = below(100);
  for (const auto& [weight, run] : kSteps) {
    if (at < weight) return (this->*run)();
    at -= weight;
  }
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
    if (is_recent(sent.made) && !sent.may_be_dropped) numbers.push_back(i);
  }
  if (numbers.empty()) return append();
  send({numbers[below(numbers.size())]});
}

// As exporters do after a start: all batches without an acknowledgement, and the newest with one. The process may end
// at once.
void Simulation::retry() {
  std::vector<size_t> numbers;
  for (size_t i = batches_.all().size(); i > 0 && numbers.size() < 6; --i) {
    const SentBatch& sent = batches_.all()[i - 1];
    if (is_recent(sent.made) && !sent.may_be_dropped && (!sent.acknowledged || chance(30))) numbers.push_back(i - 1);
  }
  if (!numbers.empty()) send(numbers);
  if (chance(50)) stop_and_open(chance(70) ? Stop::kPowerCut : Stop::kKill);
}

// An identity is kept for an hour.
bool Simulation::is_recent(const SimulatedTime& made) const {
  return !may_be_older(made, kNanosPerHour / 2);
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
  const AppendResult result = captures_.send(rig_.store().captures(), sent);
  const bool is_durable = result.outcome == AppendOutcome::kDurable;
  note("capture " + std::to_string(sent.number) + ": " + (is_durable ? "acknowledged" : result.message));
  if (!is_durable) return;
  result_.acknowledged_captures += !sent.acknowledged;
  if (!sent.acknowledged || sent.is_lost) sent.order = ++acknowledgements_;
  sent.acknowledged = true;
  sent.is_lost = false;
}

void Simulation::send(const std::vector<size_t>& numbers) {
  std::vector<BatchPtr> batches;
  batches.reserve(numbers.size());
  const uint64_t before_nano = rig_.store().clock()->now();
  for (size_t number : numbers) {
    SentBatch& sent = batches_.all()[number];
    if (sent.first_stamp_nano == 0 || sent.is_lost) sent.first_stamp_nano = before_nano;
    batches.push_back(sent.batch);
  }
  const std::vector<AppendResult> results = rig_.append(batches);
  const uint64_t after_nano = rig_.store().clock()->now();
  for (size_t i = 0; i < numbers.size(); ++i) {
    batches_.all()[numbers[i]].last_stamp_nano = after_nano;
    note_answer(batches_.all()[numbers[i]], results[i]);
  }
}

void Simulation::note_answer(SentBatch& sent, const AppendResult& answer) {
  const bool is_durable = answer.outcome == AppendOutcome::kDurable;
  note("append " + std::to_string(sent.marker) + ": " +
       (!is_durable        ? answer.message
        : answer.duplicate ? "acknowledged as a duplicate"
                           : "acknowledged"));
  if (!is_durable) return;
  if (sent.must_be_stored() && !answer.duplicate) {
    ++result_.doubled;
    fail("an acknowledged batch was stored again: " + std::to_string(sent.marker));
  }
  if (sent.is_lost && answer.duplicate) {
    ++result_.silent_losses;
    fail("a lost batch is taken for a duplicate: " + std::to_string(sent.marker));
  }
  result_.acknowledged += !sent.acknowledged;
  if (!sent.acknowledged || sent.is_lost) sent.order = ++acknowledgements_;
  sent.acknowledged = true;
  sent.is_lost = false;
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
  clear_disk_faults();
  rig_.scheduler().sleep(30 * kNanosPerSecond);
  if (!rig_.store().stats().writable || chance(30)) stop_and_open(Stop::kClose);
}

void Simulation::clear_disk_faults() {
  disk_is_broken_ = false;
  rig_.disk().release_space();
  rig_.disk().fail_syncs(false);
  rig_.disk().fail_writes(false);
  rig_.disk().fail_reads(false);
}

// Some starts lose power themselves. The start after that keeps it.
void Simulation::stop_and_open(Stop how) {
  const char* kinds[] = {"close", "kill", "power cut"};
  note(kinds[static_cast<int>(how)]);
  clear_disk_faults();
  stop(how);
  ++result_.restarts;
  retries_next_ = how == Stop::kKill || chance(15);
  if (chance(20)) crash_after_ = below(60);
  start();
}

void Simulation::start() {
  note_start();
  if (crash_after_ != UINT64_MAX) rig_.disk().crash_after(crash_after_);
  crash_after_ = UINT64_MAX;
  std::string fault = rig_.open();
  while (rig_.disk().is_crashed()) {
    note("power cut during the start");
    stop(Stop::kPowerCut);
    note_start();
    fault = rig_.open();
  }
  if (phase_ == Phase::kAfterDamage) return check_start_after_damage(fault);
  if (!fault.empty()) return fail("the store does not open: " + fault);
  check();
}

// After damage the host is not off for long, so that the times of losses are those by which batches are compared.
void Simulation::stop(Stop how) {
  const uint64_t boots = rig_.boots();
  rig_.stop(how, random_, phase_ == Phase::kAfterDamage ? kNanosPerMinute : 3 * kNanosPerHour);
  if (rig_.boots() != boots) steps_at_boot_ = clock_steps_;
}

}  // namespace fathom::store::testing
