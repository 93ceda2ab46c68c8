#include "snapshot/analyze/delta_flow.h"

#include <algorithm>
#include <unordered_map>

namespace fathom::snapshot {
namespace {

constexpr size_t kMostOccurrences = 50'000;
constexpr size_t kMostLongest = 10;
constexpr size_t kMostKeptBlocks = 200'000;

struct Hit {
  uint32_t number = 0;  // of the instruction in its block, from 1
  bool is_from = false;
  bool is_to = false;
};

bool longer(const LongInterval& a, const LongInterval& b) {
  return std::pair(a.interval.ticks(), a.interval.instructions) >
         std::pair(b.interval.ticks(), b.interval.instructions);
}

void keep_longest(std::vector<LongInterval>& longest, const LongInterval& one) {
  if (longest.size() == kMostLongest && !longer(one, longest.back())) return;
  longest.insert(std::upper_bound(longest.begin(), longest.end(), one, longer), one);
  if (longest.size() > kMostLongest) longest.pop_back();
}

}  // namespace

void DeltaFindings::add(const Interval& interval, int32_t tid, const TraceTime& clock) {
  instructions.record(interval.instructions);
  if (!interval.is_timed()) {
    ++untimed;
  } else {
    const uint64_t took = clock.duration(interval.ticks());
    time.record(took);
    unresolved += took == 0 ? 1 : 0;
  }
  keep_longest(longest, {interval, tid});
}

void DeltaFindings::occurs(uint64_t address, const Occurrence& occurrence) {
  const auto found = occurrences.find(address);
  if (found != occurrences.end()) {
    found->second.count += occurrence.count;
  } else if (occurrences.size() < kMostOccurrences) {
    occurrences.emplace(address, occurrence);
  } else {
    occurrences_left_out += occurrence.count;
  }
}

void DeltaFindings::merge(const DeltaFindings& other) {
  time.merge(other.time);
  instructions.merge(other.instructions);
  untimed += other.untimed;
  unresolved += other.unresolved;
  broken += other.broken;
  occurrences_left_out += other.occurrences_left_out;
  for (const auto& [address, occurrence] : other.occurrences) occurs(address, occurrence);
  for (const LongInterval& one : other.longest) keep_longest(longest, one);
}

// Blocks and what fits in them, kept from part to part.
class DeltaFlow::Matcher {
 public:
  Matcher(const AnswerContext& context, const InstructionPattern& from, const InstructionPattern& to)
      : decoder_(context.images(), context.map()), from_(from), to_(to) {}

  void run(int32_t pid) { decoder_.run(pid); }
  struct Matched {
    const DecodedBlock& block;
    const std::vector<Hit>& hits;
  };
  Matched match(const FlowItem& item) {
    const DecodedBlock& block = decoder_.block(item);
    if (hits_.size() > kMostKeptBlocks) hits_.clear();
    const auto [at, fresh] = hits_.try_emplace(block.id);
    if (fresh) at->second = find(block);
    return {block, at->second};
  }

 private:
  std::vector<Hit> find(const DecodedBlock& block) const {
    std::vector<Hit> hits;
    uint32_t number = 0;
    for (const DecodedInstruction& one : block.instructions) {
      const Hit hit{++number, from_.matches(block, one), to_.matches(block, one)};
      if (hit.is_from || hit.is_to) hits.push_back(hit);
    }
    return hits;
  }

  InstructionDecoder decoder_;
  const InstructionPattern& from_;
  const InstructionPattern& to_;
  std::unordered_map<uint64_t, std::vector<Hit>> hits_;
};

class DeltaFlow::Part : public FlowPart {
 public:
  Part(DeltaFlow& flow, size_t stream_number, std::unique_ptr<Matcher> own_matcher)
      : stream(stream_number),
        cpu(flow.context_.snapshot().streams[stream_number].cpu),
        matcher(std::move(own_matcher)),
        flow_(flow) {}

  void take(std::span<const FlowItem> items) override {
    for (const FlowItem& item : items) {
      if (item.kind == FlowKind::kThread) {
        run_thread(item);
      } else if (thread_ != nullptr) {
        take_one(item);
      }
    }
  }

  struct PartThread {
    DeltaIntervals intervals;
    uint64_t first_tsc = 0;
    uint64_t last_tsc = 0;
  };
  const size_t stream;
  const int32_t cpu;
  std::unique_ptr<Matcher> matcher;
  std::map<int32_t, PartThread> threads;
  DeltaFindings findings;

 private:
  void run_thread(const FlowItem& item) {
    pid_ = item_pid(item);
    tid_ = item_tid(item);
    matcher->run(pid_);
    if (flow_.tid_ >= 0 && tid_ != flow_.tid_) {
      thread_ = nullptr;
      return;
    }
    const auto [at, fresh] = threads.try_emplace(tid_);
    thread_ = &at->second;
    if (fresh) thread_->first_tsc = item.tsc;
    if (!fresh && flow_.moves_.elsewhere(tid_, cpu, thread_->last_tsc, item.tsc)) thread_->intervals.interrupt();
    thread_->last_tsc = item.tsc;
  }

  void take_one(const FlowItem& item) {
    thread_->last_tsc = item.tsc;
    if (item.kind == FlowKind::kGap) thread_->intervals.interrupt();
    if (item.kind == FlowKind::kBlock) take_block(item);
  }

  void take_block(const FlowItem& item) {
    const auto matched = matcher->match(item);
    const auto found = [this](const Interval& interval) { findings.add(interval, tid_, flow_.context_.time()); };
    uint32_t done = 0;
    for (const Hit& hit : matched.hits) {
      const DecodedInstruction& one = matched.block.instructions[hit.number - 1];
      thread_->intervals.run(hit.number - done);
      done = hit.number;
      if (hit.is_to) thread_->intervals.to(item.tsc, one.address, found);
      if (hit.is_from) thread_->intervals.from(item.tsc, one.address);
      findings.occurs(one.address, {1, hit.is_from, hit.is_to, pid_, item.tsc, one.text});
    }
    thread_->intervals.run(item.count - std::min(done, item.count));
  }

  DeltaFlow& flow_;
  int32_t pid_ = -1;
  int32_t tid_ = -1;
  PartThread* thread_ = nullptr;
};

DeltaFlow::DeltaFlow(const AnswerContext& context, const InstructionPattern& from, const InstructionPattern& to,
                     int32_t tid)
    : context_(context), from_(from), to_(to), tid_(tid), moves_(context.snapshot()) {}
DeltaFlow::~DeltaFlow() = default;

std::unique_ptr<FlowPart> DeltaFlow::part(size_t stream) {
  std::unique_ptr<Matcher> matcher;
  const std::lock_guard guard(lock_);
  if (matchers_.empty()) {
    matcher = std::make_unique<Matcher>(context_, from_, to_);
  } else {
    matcher = std::move(matchers_.back());
    matchers_.pop_back();
  }
  return std::make_unique<Part>(*this, stream, std::move(matcher));
}

bool DeltaFlow::merge(std::unique_ptr<FlowPart> merged) {
  Part& part = static_cast<Part&>(*merged);
  if (part.stream != stream_) end_stream();
  stream_ = part.stream;
  findings_.merge(part.findings);
  for (const auto& [tid, later] : part.threads) {
    Thread& thread = threads_[tid];
    const int32_t id = tid;
    if (moves_.elsewhere(tid, part.cpu, thread.last_tsc, later.first_tsc)) thread.intervals.interrupt();
    thread.intervals.follow(later.intervals, [&](const Interval& found) { findings_.add(found, id, context_.time()); });
    thread.last_tsc = later.last_tsc;
  }
  const std::lock_guard guard(lock_);
  matchers_.push_back(std::move(part.matcher));
  return true;
}

void DeltaFlow::end_stream() {
  for (const auto& [tid, thread] : threads_) {
    findings_.broken += thread.intervals.broken();
    findings_.unclosed += thread.intervals.open() ? 1 : 0;
  }
  threads_.clear();
}

const DeltaFindings& DeltaFlow::findings() {
  end_stream();
  return findings_;
}

}  // namespace fathom::snapshot
