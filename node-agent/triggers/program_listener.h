// ProgramListener: the interface to which traced programs are reported as they come, change and end.
//
// Thread safety: called on the agent's loop. Ownership: what it is given is shared.
#pragma once

#include <memory>
#include <vector>

#include "node-agent/triggers/watched_program.h"

namespace fathom::agent {

class ProgramListener {
 public:
  virtual ~ProgramListener() = default;
  // New, or changed.
  virtual void changed(const std::shared_ptr<const WatchedProgram>&) {}
  // It is over, and still has what it had open: for a last look. After changed().
  virtual void ended(const std::shared_ptr<const WatchedProgram>&) {}
  // It died without calling exit() or returning from main(): both leave a mark. `open`: the spans that were open. After
  // changed().
  virtual void crashed(const std::shared_ptr<const WatchedProgram>&, const std::vector<ThreadSpan>& /*open*/) {}
  // Nothing of it is here any more.
  virtual void gone(const WatchedProgram&) {}
  // Each time that the agent has looked after all programs.
  virtual void step(uint64_t /*now_nano*/) {}
};

}  // namespace fathom::agent
