// TracepointRequests: what a collector asks about tracepoints: which there are, and to switch them.
//
// Purpose: the answer is what the programs' own tables say. A program switches some milliseconds after it was told, so
// who asked for that is answered when all that are meant have done it, or a second later: then the answer says of those
// that have not (a program that is stopped) how they still are. Thread safety: on the agent's loop. Ownership: of
// requests that wait; `answer` is called once, or never when this ends before. Errors: as words in the answer. Limits:
// kMostListed tracepoints, the others are left out; kMostSwitching requests wait, further ones are answered at once.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <vector>

#include "node-agent/agent/agent.h"
#include "node-agent/control.h"

namespace fathom::agent {

inline constexpr size_t kMostListed = 10'000;
inline constexpr size_t kMostSwitching = 16;
inline constexpr uint64_t kSwitchingNano = 1'000'000'000;

class TracepointRequests {
 public:
  using Answer = std::function<void(TracepointAnswer)>;

  void ask(Agent& agent, TracepointRequest request, uint64_t now_monotonic_nano, Answer answer);
  // To be called at each look at all programs.
  void look(const Agent& agent, uint64_t now_monotonic_nano);

 private:
  struct Switching {
    TracepointRequest request;
    Answer answer;
    std::vector<ProgramDetail> left;  // that are not known to have switched
    uint64_t deadline_nano = 0;

    bool is_over(uint64_t now_nano);
  };

  std::list<Switching> switching_;
};

}  // namespace fathom::agent
