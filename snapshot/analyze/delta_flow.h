// DeltaFlow: the analysis behind `delta`: decoded flow, looked at instruction by instruction, in parallel.
//
// Thread safety: as Analysis. Ownership: keeps references to the context and the patterns. Memory: bounded by the code
// that fits, not by the stream. Errors: none.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "snapshot/analyze/answer_context.h"
#include "snapshot/analyze/delta_intervals.h"
#include "snapshot/analyze/distribution.h"
#include "snapshot/analyze/instruction_pattern.h"
#include "snapshot/analyze/thread_moves.h"

namespace fathom::snapshot {

// An instruction that fits, and how often it ran.
struct Occurrence {
  uint64_t count = 0;
  bool is_from = false;
  bool is_to = false;
  int32_t pid = -1;
  uint64_t tsc = 0;  // when it was met
  std::string text;
};

struct LongInterval {
  Interval interval;
  int32_t tid = -1;
};

struct DeltaFindings {
  Distribution time;  // in units of the context's time
  Distribution instructions;
  uint64_t untimed = 0;     // intervals whose time is not known
  uint64_t unresolved = 0;  // whose ends no time tells apart; `time` has them as 0
  uint64_t broken = 0;      // open when a gap came, or when the thread went to another stream
  uint64_t unclosed = 0;
  std::map<uint64_t, Occurrence> occurrences;  // by address
  uint64_t occurrences_left_out = 0;           // of addresses beyond the limit
  std::vector<LongInterval> longest;           // by time, then by instructions

  void add(const Interval& interval, int32_t tid, const TraceTime& clock);
  void merge(const DeltaFindings& other);
  void occurs(uint64_t address, const Occurrence& occurrence);
};

class DeltaFlow : public Analysis {
 public:
  DeltaFlow(const AnswerContext& context, const InstructionPattern& from, const InstructionPattern& to, int32_t tid);
  ~DeltaFlow() override;

  std::unique_ptr<FlowPart> part(size_t stream) override;
  bool merge(std::unique_ptr<FlowPart> part) override;
  // After the last part.
  const DeltaFindings& findings();

 private:
  class Part;
  class Matcher;
  struct Thread {
    DeltaIntervals intervals = DeltaIntervals::from_the_beginning();
    uint64_t last_tsc = 0;
  };
  void end_stream();

  const AnswerContext& context_;
  const InstructionPattern& from_;
  const InstructionPattern& to_;
  const int32_t tid_;
  const ThreadMoves moves_;
  std::mutex lock_;  // of matchers_
  std::vector<std::unique_ptr<Matcher>> matchers_;
  size_t stream_ = SIZE_MAX;
  std::map<int32_t, Thread> threads_;  // of the stream at hand
  DeltaFindings findings_;
};

}  // namespace fathom::snapshot
