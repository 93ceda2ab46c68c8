// DeltaIntervals: algorithm 1 of the paper over a sequence that is cut into parts.
//
// Purpose: the state of one thread on one stream. A part does not know whether an interval was open when it began, so
// it keeps what it cannot know (the first `from` and the first thing that decides) and settles it in follow(). Thread
// safety: none. Units: ticks, instructions. Errors: none. Source of the idea: Sharma and Dagenais, Hardware-Assisted
// Instruction Profiling and Latency Detection, algorithm 1; that a state is a function of the unknown one before is how
// parallel prefix sums work.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace fathom::snapshot {

struct Interval {
  uint64_t begin_tsc = 0;  // 0: not known
  uint64_t end_tsc = 0;
  uint64_t instructions = 0;
  uint64_t from = 0;  // addresses
  uint64_t to = 0;
};

class DeltaIntervals {
 public:
  using Found = std::function<void(const Interval&)>;

  // Of what nothing is known before it.
  DeltaIntervals() = default;
  // Of what comes first: nothing was open.
  static DeltaIntervals from_the_beginning();

  void run(uint64_t instructions) { at_ += instructions; }
  // The instruction that ran last is one of those.
  void from(uint64_t tsc, uint64_t ip);
  void to(uint64_t tsc, uint64_t ip, const Found& found);
  // What is open cannot be measured.
  void interrupt();

  // This comes behind what went before: settles what `later` could not know, and goes on from its end.
  void follow(const DeltaIntervals& later, const Found& found);

  uint64_t broken() const { return broken_; }
  bool open() const { return open_.has_value(); }

 private:
  struct Mark {
    uint64_t tsc = 0;
    uint64_t ip = 0;
    uint64_t at = 0;  // in instructions of this part
  };
  enum class Decision : uint8_t { kNone, kTo, kInterrupt };

  static Interval between(const Mark& from, uint64_t before, const Mark& to);

  uint64_t at_ = 0;
  std::optional<Mark> open_;  // as far as this part knows
  // The first thing that closes whatever was open before.
  Decision decision_ = Decision::kNone;
  Mark decided_;
  std::optional<Mark> opened_before_;  // the first `from` before it: it opened, unless something was open already
  uint64_t broken_ = 0;
};

}  // namespace fathom::snapshot
