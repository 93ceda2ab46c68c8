// SyscallFlow: the analysis behind `syscalls`: calls of the kernel, from their instruction to the return to user code.
//
// Purpose: calls are found in parts side by side; one that a part only sees the beginning or the end of is put together
// when parts are merged, or, where a thread went from processor to processor, at the end, by time. Thread safety: as
// Analysis. Ownership: keeps a reference to the context. Memory: bounded by the kinds of calls, and by a limit for
// halves of calls. Errors: none.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "snapshot/analyze/answer_context.h"
#include "snapshot/analyze/distribution.h"
#include "snapshot/analyze/instruction_decoder.h"
#include "snapshot/analyze/syscall_numbers.h"
#include "snapshot/analyze/thread_moves.h"

namespace fathom::snapshot {

// A call that did not come back yet.
struct SyscallEntry {
  uint64_t tsc = 0;
  uint64_t ip = 0;                                      // of the instruction
  uint64_t back = 0;                                    // of the one behind it
  int64_t number = DecodedInstruction::kWritesUnknown;  // as far as the code says
  int32_t pid = -1;
};

// Where and when user code ran again.
struct UserArrival {
  uint64_t tsc = 0;
  uint64_t ip = 0;
};

struct SyscallStats {
  Distribution latency;  // in units of the context's time
  uint64_t count = 0;
  uint64_t interrupted = 0;
  uint64_t longest_ticks = 0;
  uint64_t longest_begin_tsc = 0;
  int32_t longest_tid = -1;

  void merge(const SyscallStats& other);
};

struct SyscallFindings {
  std::map<std::string, SyscallStats> calls;  // by name
  uint64_t cut = 0;                           // by a gap
  uint64_t unfinished = 0;
  uint64_t untimed = 0;  // counted, but in no latency

  void merge(const SyscallFindings& other);
};

class SyscallFlow : public Analysis {
 public:
  SyscallFlow(const AnswerContext& context, int32_t tid);
  ~SyscallFlow() override;

  std::unique_ptr<FlowPart> part(size_t stream) override;
  bool merge(std::unique_ptr<FlowPart> part) override;
  // After the last part.
  const SyscallFindings& findings();

 private:
  class Part;
  struct Halves {
    std::vector<SyscallEntry> entries;
    std::vector<UserArrival> arrivals;
  };
  using HalvesByThread = std::map<int32_t, Halves>;

  void complete(const SyscallEntry& entry, const UserArrival& arrival, int32_t tid, SyscallFindings& into) const;
  void pair(const SyscallEntry& entry, const UserArrival& arrival, int32_t tid, int32_t cpu, SyscallFindings& into,
            HalvesByThread& halves) const;
  void end_stream();
  void pair_halves(int32_t tid, Halves& halves);

  const AnswerContext& context_;
  const int32_t tid_;
  const ThreadMoves moves_;
  const SyscallNumbers numbers_;
  size_t stream_ = SIZE_MAX;
  std::map<int32_t, SyscallEntry> open_;  // by thread, of the stream at hand
  HalvesByThread halves_;
  SyscallFindings findings_;
};

}  // namespace fathom::snapshot
