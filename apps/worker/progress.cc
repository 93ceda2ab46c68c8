#include "apps/worker/progress.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/time.h"
#include "cli/sizes.h"

namespace fathom {

namespace {
constexpr std::string_view kClearLine = "\r\x1b[K";
}

ProgressLine::ProgressLine(std::function<void(std::string_view)> tell, std::function<uint64_t()> now_nano)
    : tell_(std::move(tell)), now_nano_(std::move(now_nano)), told_nano_(now_nano_()) {}

void ProgressLine::at(std::string_view what, uint64_t done_bytes, uint64_t all_bytes) {
  if (!tell_) return;
  const uint64_t now = now_nano_();
  if (now - std::min(now, told_nano_) < kNanosPerSecond) return;
  told_nano_ = now;
  shown_ = true;
  tell_(std::string(kClearLine) + "fathom: " + std::string(what) + " " + cli::format_size(done_bytes) + " of " +
        cli::format_size(all_bytes));
}

void ProgressLine::clear() {
  if (shown_) tell_(kClearLine);
  shown_ = false;
}

}  // namespace fathom
