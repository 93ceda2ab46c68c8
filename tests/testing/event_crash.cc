#include "tests/testing/event_crash.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <set>

#include "base/time.h"
#include "node-agent/detail/event_decoder.h"

namespace fathom::testing {

namespace {

using agent::DetailFile;
using agent::DetailSnapshot;
using client::EventPage;

constexpr uint64_t kPatienceNano = 60 * kNanosPerSecond;
// A chunk that is overwritten takes more events with it than a reader's fault would.
constexpr uint64_t kLeastPerChunk = (pool::kSmallBytes - 2 * client::kMostEventRecord) / client::kMostEventRecord;
// Numbers are taken before places are reserved: at the edges of a chunk, two events may have changed places.
constexpr uint64_t kSwapped = 3;

using NumbersByThread = std::vector<std::vector<uint64_t>>;

bool is_whole(const agent::EventView& event, uint64_t threads) {
  if (event.tracepoint->name != "numbered" || event.values.size() != 4) return false;
  uint64_t thread = event.values[0].natural;
  std::string_view fill = event.values[2].text;
  return thread < threads && fill.size() == client::fill_bytes(event.values[1].natural) &&
         event.values[3].natural ==
             client::event_sum(static_cast<uint32_t>(thread), event.values[1].natural, fill.data(), fill.size());
}

NumbersByThread collect(const DetailSnapshot& snapshot, uint64_t threads, EventVerdict& verdict) {
  NumbersByThread numbers(threads);
  agent::DecodeCounts counts = agent::decode(snapshot, [&](const agent::EventView& event) {
    if (event.tracepoint->name == "begin") return;
    if (!is_whole(event, threads)) return void(++verdict.torn);
    numbers[event.values[0].natural].push_back(event.values[1].natural);
  });
  verdict.torn += counts.unknown_tracepoints + counts.malformed_payloads + counts.walk.malformed_records;
  verdict.holes += counts.walk.holes;
  for (auto& each : numbers) {
    std::sort(each.begin(), each.end());
    auto end = std::unique(each.begin(), each.end());
    verdict.doubled += static_cast<uint64_t>(each.end() - end);
    each.erase(end, each.end());
  }
  return numbers;
}

// Stretches of numbers that are missing; those with less than kSwapped found ones between count as one.
struct Gap {
  uint64_t missing;
  bool last;  // reaches to the last number that was taken
};
std::vector<Gap> gaps_of(const std::vector<uint64_t>& found, uint64_t started) {
  std::vector<Gap> gaps;
  uint64_t next = 0, since = kSwapped;
  auto add = [&](uint64_t missing, bool last) {
    if (since < kSwapped) {
      gaps.back().missing += missing;
      gaps.back().last = last;
    } else {
      gaps.push_back({missing, last});
    }
    since = 0;
  };
  for (uint64_t number : found) {
    if (number > next) add(number - next, false);
    ++since;
    next = number + 1;
  }
  if (started > next) add(started - next, true);
  return gaps;
}

// Whether each chunk of some size was claimed: only then can any of that size have been claimed twice.
bool may_have_lapped(const DetailFile& file) {
  bool all[2] = {true, true};
  for (uint32_t chunk = 0; chunk < file.shape().chunks(); ++chunk) {
    bool used = pool::state_of(file.entry(chunk).state.load()) != pool::kDetailFree;
    all[file.shape().is_small(chunk) ? 1 : 0] &= used;
  }
  return all[0] || all[1];
}

// Chunks that begin with a record of their epoch, and are not in the snapshot.
uint64_t missed_chunks(const DetailFile& file, const DetailSnapshot& snapshot) {
  std::set<uint32_t> copied;
  for (const agent::ChunkCopy& chunk : snapshot.chunks) copied.insert(chunk.number);
  uint64_t missed = 0;
  for (uint32_t chunk = 0; chunk < file.shape().chunks(); ++chunk) {
    uint64_t state = file.entry(chunk).state.load();
    char begin[pool::kLeastRecordBytes];
    uint32_t epoch = 0;
    if (pool::state_of(state) == pool::kDetailFree || !file.read_chunk(chunk, begin, sizeof begin)) continue;
    std::memcpy(&epoch, begin + pool::kEpochOffset, sizeof epoch);
    missed += epoch == pool::epoch_of(state) && copied.count(chunk) == 0 ? 1 : 0;
  }
  return missed;
}

void judge_thread(const std::vector<uint64_t>& found, const client::EventSlot& slot, bool lapped,
                  EventVerdict& verdict) {
  uint64_t started = slot.started.load(), finished = slot.finished.load();
  uint64_t may_miss = started - finished;
  verdict.committed += finished;
  verdict.found += found.size();
  for (const Gap& gap : gaps_of(found, started)) {
    if (lapped && !gap.last && gap.missing >= kLeastPerChunk) {
      verdict.overwritten += gap.missing;
      continue;
    }
    uint64_t excused = std::min(gap.missing, may_miss);
    may_miss -= excused;
    verdict.under_way += excused;
    verdict.lost += gap.missing - excused;
  }
}

EventVerdict judge(const DetailFile& file, const DetailSnapshot& snapshot, const EventPage& page, uint32_t threads) {
  EventVerdict verdict;
  NumbersByThread numbers = collect(snapshot, threads, verdict);
  bool lapped = may_have_lapped(file);
  for (uint32_t thread = 0; thread < threads; ++thread) {
    judge_thread(numbers[thread], page.slots[thread], lapped, verdict);
  }
  // A dead program's pool is all there.
  for (const auto& [reason, count] : snapshot.losses.list()) {
    if (reason == "no_chunk" || reason == "no_pool") verdict.counted += count;
    if (reason == "overwritten_chunks" || reason == "unreadable_chunks") verdict.lost += count;
  }
  verdict.lost -= std::min(verdict.lost, verdict.counted);
  verdict.lost += missed_chunks(file, snapshot);
  return verdict;
}

Result<EventPage*> make_page(std::string& path) {
  path = std::filesystem::temp_directory_path() / "event-page-XXXXXX";
  Fd file(::mkstemp(path.data()));
  if (!file.open() || ::ftruncate(file.get(), sizeof(EventPage)) != 0) return system_error(path);
  void* page = ::mmap(nullptr, sizeof(EventPage), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (page == MAP_FAILED) return system_error(path);
  return static_cast<EventPage*>(page);
}

Result<int> spawn(std::vector<std::string> command, std::vector<std::string> environment) {
  std::vector<char*> arguments, variables;
  for (std::string& word : command) arguments.push_back(word.data());
  for (std::string& entry : environment) variables.push_back(entry.data());
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::string_view(*entry).substr(0, 7) != "FATHOM_") variables.push_back(*entry);
  }
  arguments.push_back(nullptr);
  variables.push_back(nullptr);
  pid_t pid = 0;
  errno = ::posix_spawn(&pid, arguments[0], nullptr, nullptr, arguments.data(), variables.data());
  if (errno != 0) return system_error(command[0]);
  return static_cast<int>(pid);
}

void snapshots_while_it_lives(agent::DetailReader& reader, const EventCrashPlan& plan, EventVerdict& verdict) {
  for (uint32_t i = 0; i < plan.live_snapshots; ++i) {
    EventVerdict live;
    collect(reader.snapshot({}, 1 << 30), plan.threads, live);
    verdict.torn += live.torn;
    verdict.doubled += live.doubled;
  }
}

}  // namespace

EventVerdict& EventVerdict::operator+=(const EventVerdict& other) {
  for (auto field : {&EventVerdict::committed, &EventVerdict::found, &EventVerdict::overwritten,
                     &EventVerdict::under_way, &EventVerdict::counted, &EventVerdict::lost, &EventVerdict::torn,
                     &EventVerdict::doubled, &EventVerdict::holes}) {
    this->*field += other.*field;
  }
  return *this;
}

std::string EventVerdict::text() const {
  return std::to_string(committed) + " committed, " + std::to_string(found) + " found, " + std::to_string(overwritten) +
         " overwritten, " + std::to_string(under_way) + " under way, " + std::to_string(counted) +
         " counted as lost, " + std::to_string(lost) + " lost, " + std::to_string(torn) + " torn, " +
         std::to_string(doubled) + " doubled, " + std::to_string(holes) + " holes";
}

// ---- the program
// ------------------------------------------------------------------------------------------------------

Result<EventProgram> EventProgram::start(const EventCrashPlan& plan, const std::vector<std::string>& flags) {
  std::string path;
  Result<EventPage*> page = make_page(path);
  if (!page) return page.error();
  std::vector<std::string> command{plan.program, path};
  command.insert(command.end(), flags.begin(), flags.end());
  Result<int> pid = spawn(command, {"FATHOM_AGENT_SOCKET=", "FATHOM_DETAIL_MIB=" + std::to_string(plan.pool_mib)});
  if (!pid) ::munmap(*page, sizeof(EventPage));
  if (!pid) return pid.error();
  EventProgram program(*pid, *page);
  bool ready = program.await_ready(1);
  ::unlink(path.c_str());
  if (!ready) return unavailable(plan.program + " writes no events");
  return program;
}

EventProgram::EventProgram(EventProgram&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), page_(std::exchange(other.page_, nullptr)) {}

EventProgram::~EventProgram() {
  kill();
  if (page_ != nullptr) ::munmap(page_, sizeof(EventPage));
}

bool EventProgram::await_ready(uint64_t threads) const {
  uint64_t end = now_monotonic_nano() + kPatienceNano;
  while (page_->ready.load() < threads) {
    siginfo_t info{};
    bool ended = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
    if (ended || now_monotonic_nano() > end) return false;
    ::usleep(100);
  }
  return true;
}

Result<DetailFile> EventProgram::open_pool() const {
  std::error_code failed;
  std::filesystem::path folder = "/proc/" + std::to_string(pid_) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    std::string target = std::filesystem::read_symlink(entry.path(), failed);
    if (target.rfind("/memfd:fathom-detail", 0) != 0) continue;
    return DetailFile::open(Fd(::open(entry.path().c_str(), O_RDWR | O_CLOEXEC)), 0);
  }
  return not_found("process " + std::to_string(pid_) + " has no detail pool");
}

void EventProgram::kill() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

Result<EventVerdict> crash_event_writer(const EventCrashPlan& plan) {
  std::vector<std::string> flags{"--threads", std::to_string(plan.threads)};
  if (plan.signals_us != 0) flags.insert(flags.end(), {"--signals", std::to_string(plan.signals_us)});
  if (plan.spans) flags.emplace_back("--spans");
  Result<EventProgram> program = EventProgram::start(plan, flags);
  if (!program) return program.error();
  if (!program->await_ready(plan.threads)) return unavailable(plan.program + " has too few threads");
  Result<DetailFile> first = program->open_pool();
  Result<DetailFile> second = program->open_pool();
  if (!first || !second) return first ? second.error() : first.error();
  agent::DetailReader reader(*std::move(first));
  ::usleep(plan.run_us);
  EventVerdict verdict;
  snapshots_while_it_lives(reader, plan, verdict);
  program->kill();
  DetailSnapshot snapshot = reader.snapshot({}, uint64_t{1} << 30);
  verdict += judge(*second, snapshot, program->page(), plan.threads);
  return verdict;
}

EventCrashPlan varied_plan(const std::string& program, uint64_t seed, uint32_t number) {
  std::mt19937_64 random(seed + number);
  constexpr uint32_t kPools[] = {1, 1, 4, 32};
  EventCrashPlan plan{.program = program};
  plan.threads = 1 + number % 4;
  plan.signals_us = number % 3 == 0 ? 0 : 20 + static_cast<uint32_t>(random() % 200);
  plan.spans = number % 2 == 1;
  plan.pool_mib = kPools[random() % 4];
  plan.run_us = static_cast<uint32_t>(random() % (number % 5 == 0 ? 1'000 : 50'000));
  plan.live_snapshots = number % 4 == 3 ? 3 : 0;
  return plan;
}

}  // namespace fathom::testing
