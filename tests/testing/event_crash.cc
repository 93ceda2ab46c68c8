#include "tests/testing/event_crash.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "base/time.h"

namespace fathom::testing {

namespace {

using agent::DetailFile;
using agent::DetailSnapshot;
using client::EventPage;

constexpr uint64_t kPatienceNano = 60 * kNanosPerSecond;
// Twice as many as the smallest records that a pool of one MiB has room for.
constexpr uint64_t kLogEntriesPerMib = 2 * (1 << 20) / 32;

struct MappedPage {
  Fd file;
  EventPagePointer page;
};

// Without a name: the program opens what it has inherited.
Result<MappedPage> make_page(uint64_t log_entries) {
  size_t bytes = sizeof(EventPage) + client::kEventThreads * log_entries * sizeof(client::EventLogEntry);
  Fd file(::memfd_create("event-page", 0));
  if (!file.open() || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return system_error("event-page");
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
  if (memory == MAP_FAILED) return system_error("event-page");
  auto* page = static_cast<EventPage*>(memory);
  page->log_entries = log_entries;
  return MappedPage{std::move(file), EventPagePointer(page, Unmapped{bytes})};
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
  for (uint32_t i = 0; i < plan.live_snapshots; ++i) verdict += judge_alive(reader.snapshot({}, 1 << 30), plan.threads);
}

std::vector<std::string> flags_of(const EventCrashPlan& plan) {
  std::vector<std::string> flags{"--threads", std::to_string(plan.threads)};
  if (plan.signals_us != 0) flags.insert(flags.end(), {"--signals", std::to_string(plan.signals_us)});
  if (plan.forget_every != 0) flags.insert(flags.end(), {"--forget", std::to_string(plan.forget_every)});
  if (plan.spans) flags.emplace_back("--spans");
  return flags;
}

}  // namespace

void Unmapped::operator()(client::EventPage* page) const {
  ::munmap(page, bytes);
}

// ---- the program ----------------------------------------------------------------------------------------------------

Result<EventProgram> EventProgram::start(const EventCrashPlan& plan, const std::vector<std::string>& flags) {
  Result<MappedPage> mapped = make_page(kLogEntriesPerMib * plan.pool_mib);
  if (!mapped) return mapped.error();
  std::vector<std::string> command{plan.program, "/proc/self/fd/" + std::to_string(mapped->file.get())};
  command.insert(command.end(), flags.begin(), flags.end());
  Result<int> pid = spawn(command, {"FATHOM_AGENT_SOCKET=", "FATHOM_DETAIL_MIB=" + std::to_string(plan.pool_mib)});
  if (!pid) return pid.error();
  EventProgram program(*pid, std::move(mapped->page));
  if (!program.await_ready(1)) return unavailable(plan.program + " writes no events");
  return program;
}

EventProgram::EventProgram(EventProgram&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), page_(std::move(other.page_)) {}

EventProgram::~EventProgram() {
  kill();
}

bool EventProgram::await(const std::function<bool()>& condition) const {
  uint64_t end = now_monotonic_nano() + kPatienceNano;
  while (!condition()) {
    siginfo_t info{};
    bool ended = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
    if (ended || now_monotonic_nano() > end) return false;
    ::usleep(100);
  }
  return true;
}

bool EventProgram::await_ready(uint64_t threads) const {
  return await([&] { return page_->ready.load() >= threads; });
}

bool EventProgram::await_events(uint32_t threads, uint64_t events) const {
  return await([&] {
    return std::all_of(page_->slots, page_->slots + threads,
                       [&](const client::EventSlot& slot) { return slot.finished.load() >= events; });
  });
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
  Result<EventProgram> program = EventProgram::start(plan, flags_of(plan));
  if (!program) return program.error();
  if (!program->await_ready(plan.threads)) return unavailable(plan.program + " has too few threads");
  Result<DetailFile> first = program->open_pool();
  Result<DetailFile> second = program->open_pool();
  if (!first || !second) return first ? second.error() : first.error();
  agent::DetailReader reader(*std::move(first));
  ::usleep(plan.run_us);
  if (!program->await_events(plan.threads, plan.least_events)) return unavailable(plan.program + " writes too little");
  EventVerdict verdict;
  snapshots_while_it_lives(reader, plan, verdict);
  program->kill();
  DetailSnapshot snapshot = reader.snapshot({}, uint64_t{1} << 30);
  if (plan.sabotage) plan.sabotage(snapshot, *second);
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
