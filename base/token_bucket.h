// TokenBucket: a rate limit: `per_s` actions per second, and up to `burst` actions at once after a pause.
//
// Thread safety: none. Units: nanoseconds of a clock that never goes back; a reading before the last one adds no token.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace fathom {

class TokenBucket {
 public:
  TokenBucket(double per_s, double burst) : per_s_(per_s), burst_(burst), tokens_(burst) {}

  // Takes a token. False: none is left, and the action must not happen.
  [[nodiscard]] bool take(uint64_t now_nano) {
    fill(now_nano);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

 private:
  void fill(uint64_t now_nano) {
    if (now_nano <= filled_nano_) return;
    const double passed_s = static_cast<double>(now_nano - filled_nano_) / static_cast<double>(kNanosPerSecond);
    tokens_ = std::min(burst_, tokens_ + passed_s * per_s_);
    filled_nano_ = now_nano;
  }

  double per_s_;
  double burst_;
  double tokens_;
  uint64_t filled_nano_ = 0;  // the bucket starts full, so the first reading may be any value
};

}  // namespace fathom
