#include "apps/recorder/progress.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "base/time.h"

namespace fathom {

namespace {
constexpr std::string_view kClearLine = "\r\x1b[K";
}

StepProgress::StepProgress(uint64_t most_steps, std::function<void(std::string_view)> tell,
                           std::function<uint64_t()> now_nano)
    : most_steps_(most_steps), tell_(std::move(tell)), now_nano_(std::move(now_nano)), told_nano_(now_nano_()) {}

void StepProgress::look(std::string_view where) {
  const uint64_t now = now_nano_();
  if (now - std::min(now, told_nano_) < kNanosPerSecond) return;
  told_nano_ = now;
  shown_ = true;
  tell_(std::string(kClearLine) + "fathom record: " + group_digits(steps_) + " of at most " +
        group_digits(most_steps_) + " instructions" + (where.empty() ? "" : ", ") + std::string(where));
}

void StepProgress::clear() {
  if (shown_) tell_(kClearLine);
  shown_ = false;
}

}  // namespace fathom
