// The least that stepping can cost: a loop that steps a command and does nothing else, on the command's own processor.
//
// Thread safety: one at a time; it forks. Units: steps, seconds. Errors: kInternal, with the system's words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::bench {

struct BareSteps {
  uint64_t steps = 0;
  double seconds = 0;
};
// From the command's first instruction to its end.
Result<BareSteps> step_barely(const std::vector<std::string>& command);

}  // namespace fathom::bench
