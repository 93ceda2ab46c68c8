#include "snapshot/analyze/syscall_flow.h"

#include <algorithm>
#include <array>

#include "base/syscall_names.h"

namespace fathom::snapshot {
namespace {

constexpr size_t kMostHalves = 1u << 20;
constexpr uint64_t kKernelBegin = 1ull << 63;
constexpr size_t kBlocksLookedBack = 4;

bool is_user(uint64_t ip) {
  return ip != 0 && ip < kKernelBegin;
}

// These never come back behind their instruction, and nothing has interrupted them.
bool goes_elsewhere(std::string_view name) {
  return name == "rt_sigreturn" || name == "execve" || name == "execveat";
}

std::string name_of(int64_t number) {
  const std::string_view name =
      number >= 0 && number <= INT32_MAX ? syscall_name(static_cast<int32_t>(number)) : std::string_view();
  return name.empty() ? "number " + std::to_string(number) : std::string(name);
}

}  // namespace

void SyscallStats::merge(const SyscallStats& other) {
  latency.merge(other.latency);
  count += other.count;
  interrupted += other.interrupted;
  if (other.longest_tid < 0 || (longest_tid >= 0 && other.longest_ticks <= longest_ticks)) return;
  longest_ticks = other.longest_ticks;
  longest_begin_tsc = other.longest_begin_tsc;
  longest_tid = other.longest_tid;
}

void SyscallFindings::merge(const SyscallFindings& other) {
  for (const auto& [name, stats] : other.calls) calls[name].merge(stats);
  cut += other.cut;
  unfinished += other.unfinished;
  untimed += other.untimed;
}

// What one thread did in a part. Whether a call was open when the part began, the part does not know: the first arrival
// in user code, or the first gap, is kept for whoever merges.
class SyscallFlow::Part : public FlowPart {
 public:
  Part(SyscallFlow& flow, size_t stream_number)
      : stream(stream_number),
        cpu(flow.context_.snapshot().streams[stream_number].cpu),
        flow_(flow),
        decoder_(flow.context_.images(), flow.context_.map()) {}

  struct Thread {
    bool decided = false;
    bool first_is_gap = false;
    std::optional<UserArrival> first;
    std::optional<SyscallEntry> open;
    bool just_came = false;  // to this processor
    std::array<FlowItem, kBlocksLookedBack> blocks{};
    size_t block_count = 0;
  };

  void take(std::span<const FlowItem> items) override {
    for (const FlowItem& item : items) {
      if (item.kind == FlowKind::kThread)
        run_thread(item);
      else if (thread_ != nullptr)
        take_one(item);
    }
  }

  const size_t stream;
  const int32_t cpu;
  std::map<int32_t, Thread> threads;
  HalvesByThread halves;
  SyscallFindings findings;

 private:
  void run_thread(const FlowItem& item) {
    pid_ = item_pid(item);
    tid_ = item_tid(item);
    decoder_.run(pid_);
    const bool wanted = flow_.tid_ < 0 || tid_ == flow_.tid_;
    thread_ = wanted ? &threads[tid_] : nullptr;
    if (thread_ != nullptr) thread_->just_came = true;
  }

  void take_one(const FlowItem& item) {
    switch (item.kind) {
      case FlowKind::kGap:
        return cut();
      case FlowKind::kPause:
        return pause(item);
      case FlowKind::kResume:
        if (is_user(item.ip)) arrive({item.tsc, item.ip});
        return;
      case FlowKind::kBlock:
        return run_block(item);
      case FlowKind::kThread:
      case FlowKind::kInterrupt:
      case FlowKind::kProgram:
      case FlowKind::kMark:
        return;
    }
  }

  void run_block(const FlowItem& item) {
    if (!is_user(item.ip)) return;
    arrive({item.tsc, item.ip});
    thread_->blocks[thread_->block_count++ % kBlocksLookedBack] = item;
    if (item.end == BlockEnd::kFarCall) enter(item);
  }

  void enter(const FlowItem& item) {
    const DecodedBlock& block = decoder_.block(item);
    if (block.instructions.empty() || (block.instructions.back().groups & kGroupSystemCall) == 0) return;
    const DecodedInstruction& last = block.instructions.back();
    SyscallEntry entry{item.tsc, last.address, last.address + last.length, 0, pid_};
    entry.number = number_by_code();
    thread_->open = entry;
  }

  // The last constant that was put into eax; what else was written there is not known.
  int64_t number_by_code() {
    for (size_t back = 0; back < std::min(thread_->block_count, kBlocksLookedBack); ++back) {
      const FlowItem& item = thread_->blocks[(thread_->block_count - 1 - back) % kBlocksLookedBack];
      const auto& instructions = decoder_.block(item).instructions;
      // The call itself writes its result there.
      const size_t count = instructions.size() - (back == 0 && !instructions.empty() ? 1 : 0);
      for (size_t i = count; i-- > 0;) {
        if (instructions[i].eax != DecodedInstruction::kWritesNothing) return instructions[i].eax;
      }
    }
    return DecodedInstruction::kWritesUnknown;
  }

  // Time goes on between the block and the place where recording stops.
  void pause(const FlowItem& item) {
    if (thread_->open && item.ip == thread_->open->ip) thread_->open->tsc = std::max(thread_->open->tsc, item.tsc);
  }

  void arrive(const UserArrival& arrival) {
    const bool came = std::exchange(thread_->just_came, false);
    if (!thread_->decided) {
      thread_->decided = true;
      thread_->first = arrival;
    } else if (thread_->open) {
      flow_.pair(*thread_->open, arrival, tid_, cpu, findings, halves);
      thread_->open.reset();
    } else if (came && cpu >= 0) {
      Halves& of_thread = halves[tid_];
      if (of_thread.arrivals.size() < kMostHalves) of_thread.arrivals.push_back(arrival);
    }
  }

  void cut() {
    if (!thread_->decided)
      thread_->decided = thread_->first_is_gap = true;
    else if (thread_->open)
      ++findings.cut;
    thread_->open.reset();
    thread_->block_count = 0;
  }

  SyscallFlow& flow_;
  InstructionDecoder decoder_;
  int32_t pid_ = -1;
  int32_t tid_ = -1;
  Thread* thread_ = nullptr;
};

SyscallFlow::SyscallFlow(const AnswerContext& context, int32_t tid)
    : context_(context), tid_(tid), moves_(context.snapshot()), numbers_(context.snapshot()) {}
SyscallFlow::~SyscallFlow() = default;

std::unique_ptr<FlowPart> SyscallFlow::part(size_t stream) {
  return std::make_unique<Part>(*this, stream);
}

void SyscallFlow::complete(const SyscallEntry& entry, const UserArrival& arrival, int32_t tid,
                           SyscallFindings& into) const {
  const auto written = numbers_.number(tid, entry.tsc, arrival.tsc, entry.number);
  const int64_t number = written.value_or(entry.number);
  const bool known = written || number > DecodedInstruction::kWritesUnknown;
  const std::string name =
      known ? name_of(number) : "in " + place_name(context_.names().find(entry.pid, entry.tsc, entry.ip), entry.ip);
  SyscallStats& stats = into.calls[name];
  ++stats.count;
  const bool signalled = numbers_.signal_between(tid, entry.tsc, arrival.tsc);
  if ((arrival.ip != entry.back || signalled) && !goes_elsewhere(name)) ++stats.interrupted;
  if (entry.tsc == 0 || arrival.tsc < entry.tsc) {
    ++into.untimed;
    return;
  }
  SyscallStats one;
  one.latency.record(context_.time().duration(arrival.tsc - entry.tsc));
  one.longest_ticks = arrival.tsc - entry.tsc;
  one.longest_begin_tsc = entry.tsc;
  one.longest_tid = tid;
  stats.merge(one);
}

// One that ran on another processor meanwhile came back there.
void SyscallFlow::pair(const SyscallEntry& entry, const UserArrival& arrival, int32_t tid, int32_t cpu,
                       SyscallFindings& into, HalvesByThread& halves) const {
  if (!moves_.elsewhere(tid, cpu, entry.tsc, arrival.tsc)) return complete(entry, arrival, tid, into);
  Halves& of_thread = halves[tid];
  if (of_thread.entries.size() < kMostHalves) of_thread.entries.push_back(entry);
  if (of_thread.arrivals.size() < kMostHalves) of_thread.arrivals.push_back(arrival);
}

bool SyscallFlow::merge(std::unique_ptr<FlowPart> merged) {
  Part& part = static_cast<Part&>(*merged);
  if (part.stream != stream_) end_stream();
  stream_ = part.stream;
  findings_.merge(part.findings);
  for (auto& [tid, halves] : part.halves) {
    Halves& all = halves_[tid];
    all.entries.insert(all.entries.end(), halves.entries.begin(), halves.entries.end());
    all.arrivals.insert(all.arrivals.end(), halves.arrivals.begin(), halves.arrivals.end());
  }
  for (const auto& [tid, thread] : part.threads) {
    const auto open = open_.find(tid);
    if (thread.decided && open != open_.end()) {
      if (thread.first) pair(open->second, *thread.first, tid, part.cpu, findings_, halves_);
      if (thread.first_is_gap) ++findings_.cut;
      open_.erase(open);
    } else if (thread.first && part.cpu >= 0) {
      halves_[tid].arrivals.push_back(*thread.first);
    }
    if (thread.open) open_[tid] = *thread.open;
  }
  return true;
}

void SyscallFlow::end_stream() {
  for (const auto& [tid, entry] : open_) halves_[tid].entries.push_back(entry);
  open_.clear();
}

void SyscallFlow::pair_halves(int32_t tid, Halves& halves) {
  const auto by_tsc = [](const auto& a, const auto& b) { return a.tsc < b.tsc; };
  std::ranges::stable_sort(halves.entries, by_tsc);
  std::ranges::stable_sort(halves.arrivals, by_tsc);
  auto arrival = halves.arrivals.begin();
  for (const SyscallEntry& entry : halves.entries) {
    while (arrival != halves.arrivals.end() && arrival->tsc < entry.tsc) ++arrival;
    if (arrival == halves.arrivals.end()) {
      ++findings_.unfinished;
    } else {
      complete(entry, *arrival++, tid, findings_);
    }
  }
}

const SyscallFindings& SyscallFlow::findings() {
  end_stream();
  for (auto& [tid, halves] : halves_) pair_halves(tid, halves);
  halves_.clear();
  return findings_;
}

}  // namespace fathom::snapshot
