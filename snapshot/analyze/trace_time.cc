#include "snapshot/analyze/trace_time.h"

#include <algorithm>

#include "base/text.h"
#include "base/time.h"

namespace fathom::snapshot {

uint64_t TraceTime::duration(uint64_t ticks) const {
  if (!is_nano()) return ticks;
  const unsigned __int128 nano = static_cast<unsigned __int128>(ticks) * mult_ >> std::min<uint16_t>(shift_, 127);
  return nano > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(nano);
}

std::string TraceTime::text(uint64_t duration) const {
  return is_nano() ? format_duration(duration) : group_digits(duration) + " ticks";
}

}  // namespace fathom::snapshot
