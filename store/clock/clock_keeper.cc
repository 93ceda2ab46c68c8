#include "store/clock/clock_keeper.h"

#include <fstream>
#include <iterator>

#include "base/log.h"
#include "base/metrics.h"
#include "store/rocks/database.h"
#include "store/wal/replace_env_file.h"

namespace fathom::store {

namespace {

Counter& clock_steps() {
  return counter("fathom_clock_steps_total", "Steps of the wall clock by more than an hour; they change no age");
}

Counter& clock_failures(std::string_view operation) {
  return counter("fathom_clock_state_failures_total",
                 "Times that the state of the age clock could not be read or written", label("operation", operation));
}

Gauge& retention_paused() {
  return gauge("fathom_retention_paused",
               "1 while retention by age is paused, because the wall clock changed by more than an hour over a boot",
               label("by", "age"));
}

Gauge& unconfirmed_seconds() {
  return gauge("fathom_clock_unconfirmed_seconds",
               "The wall clock's distance from the offset that was last confirmed; 0: it is confirmed");
}

std::string with_sign(int64_t nano) {
  const uint64_t size = nano < 0 ? 0 - static_cast<uint64_t>(nano) : static_cast<uint64_t>(nano);
  return (nano < 0 ? "-" : "+") + format_duration(size);
}

int64_t distance_of(const AgeState& state) {
  return state.doubt && state.trusted_nano ? state.offset_nano - *state.trusted_nano : 0;
}

std::string pause_message(const AgeState& state, const std::string& directory) {
  return "retention by age is paused: after a boot of the host the wall clock differs by " +
         with_sign(distance_of(state)) + " from the server's own count; either the host was off for so long, or the " +
         "clock is wrong. Retention by age goes on when the clock has run for " + format_duration(kConfirmNano) +
         " without a step. If the clock is right, accept it now: touch " + directory +
         "/accept-clock; if it is wrong, set it";
}

// What a save between two minutes is worth.
bool is_same_judgement(const AgeState& a, const AgeState& b) {
  const bool doubts = a.doubt.has_value();
  if (doubts != b.doubt.has_value() || (doubts && a.doubt->anchor_nano != b.doubt->anchor_nano)) return false;
  return a.boot_id == b.boot_id && a.offset_nano == b.offset_nano && a.trusted_nano == b.trusted_nano &&
         a.gaps == b.gaps;
}

}  // namespace

void register_clock_metrics() {
  clock_steps();
  for (const char* operation : {"read", "write"}) clock_failures(operation);
  retention_paused();
  unconfirmed_seconds();
}

Result<> write_first_clock(rocksdb::Env& env, const std::string& directory) {
  const std::string path = directory + "/clock";
  if (env.FileExists(path).ok()) return {};
  const rocksdb::Status status = replace_env_file(env, path, encode_age_state({}));
  if (status.ok()) return {};
  const std::string why = "cannot write " + path + ": " + status.ToString();
  return status.IsNoSpace() ? unavailable(why) : invalid(why);
}

bool has_first_clock(const std::string& directory) {
  std::ifstream file(directory + "/clock", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const Result<AgeState> state = decode_age_state(bytes);
  return state.ok() && is_first_age_state(*state);
}

ClockKeeper::ClockKeeper(rocksdb::Env& env, const std::string& directory, ReadClocks read, uint64_t newest_nano)
    : env_(env), directory_(directory) {
  register_clock_metrics();
  const std::optional<AgeState> saved = load();
  clock_ = std::make_shared<AgeClock>(std::move(read), saved, AgeWitness{newest_nano, is_first_});
  offset_nano_ = has_saved_ ? saved_.offset_nano : clock_->time().state().offset_nano;
  tick();
}

ClockKeeper::~ClockKeeper() {
  clock_->observe();
  save(clock_->time().state());
}

std::optional<AgeState> ClockKeeper::load() {
  const std::string path = directory_ + "/clock";
  std::string bytes;
  const rocksdb::Status status = rocksdb::ReadFileToString(&env_, path, &bytes);
  Result<AgeState> state = status.ok() ? decode_age_state(bytes) : from_status(status, "read " + path);
  is_first_ = state.ok() && is_first_age_state(*state);
  if (is_first_) return std::nullopt;
  if (!state) {
    set_aside(state.error());
    return std::nullopt;
  }
  saved_ = *state;
  has_saved_ = true;
  return *std::move(state);
}

// The time off that the state knew is lost, so stamps may be behind the wall clock.
void ClockKeeper::set_aside(const Error& why) {
  const std::string path = directory_ + "/clock";
  const bool is_there = env_.RenameFile(path, path + ".damaged").ok();
  clock_failures("read").add();
  log_error("cannot use " + path + ": " + why.message + "; " +
            (is_there ? "it is set aside as " + path + ".damaged, and " : "") +
            "ages are counted from the newest stored data");
}

Result<> ClockKeeper::check_begun() const {
  if (!is_first_ || has_saved_) return {};
  return unavailable("cannot write " + directory_ + "/clock, which the first start of this version must write");
}

void ClockKeeper::tick() {
  clock_->observe();
  obey_operator();
  const AgeTime time = clock_->time();
  report(time);
  save_if_due(time.state());
}

void ClockKeeper::obey_operator() {
  const std::string path = directory_ + "/accept-clock";
  if (!env_.FileExists(path).ok()) return;
  rocksdb::Status removed = env_.DeleteFile(path);
  if (!removed.ok()) {
    log_error("cannot remove " + path + ", so the clock is not accepted: " + removed.ToString());
    return;
  }
  if (clock_->accept()) {
    log_info("the wall clock is accepted, because " + path + " was there");
  } else {
    log_error("the wall clock is not accepted, because it shows a time before 2026; set it, then create " + path +
              " again");
  }
}

void ClockKeeper::report(const AgeTime& time) {
  const AgeState& state = time.state();
  if (time.steps() != steps_) {
    clock_steps().add(time.steps() - steps_);
    log_warning("the wall clock was stepped by " + with_sign(state.offset_nano - offset_nano_) +
                "; ages of stored data do not change");
  }
  steps_ = time.steps();
  offset_nano_ = state.offset_nano;
  const bool paused = time.is_paused();
  if (paused && !was_paused_) log_warning(pause_message(state, directory_));
  if (!paused && was_paused_) log_info("retention by age goes on");
  was_paused_ = paused;
  retention_paused().set(paused ? 1 : 0);
  constexpr auto kSecond = static_cast<int64_t>(kNanosPerSecond);
  const int64_t distance = distance_of(state);
  unconfirmed_seconds().set((distance + (distance < 0 ? -kSecond : kSecond) / 2) / kSecond);
}

void ClockKeeper::save_if_due(const AgeState& state) {
  const bool is_due = !has_saved_ || state.boottime_nano - saved_.boottime_nano >= kClockSaveNano;
  if (is_due || !is_same_judgement(state, saved_)) save(state);
}

void ClockKeeper::save(const AgeState& state) {
  if (Result<> written = write(encode_age_state(state)); !written) {
    clock_failures("write").add();
    if (failure_pace_.due()) log_warning("the clock's state is not saved: " + written.error().message);
    return;
  }
  saved_ = state;
  has_saved_ = true;
}

Result<> ClockKeeper::write(const std::string& bytes) {
  const std::string path = directory_ + "/clock";
  const rocksdb::Status status = replace_env_file(env_, path, bytes);
  return status.ok() ? Result<>() : Result<>(from_status(status, "write " + path));
}

}  // namespace fathom::store
