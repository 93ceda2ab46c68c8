#include "store/rocks/damaged_reads.h"

#include "base/log.h"
#include "base/time.h"
#include "store/rocks/counters.h"

namespace fathom::store {

namespace {

constexpr uint64_t kIntervalNano = 60 * kNanosPerSecond;

}  // namespace

void DamagedReads::note_left_out(const Error& error) {
  seals_without_older_spans().add();
  report(error, "newer spans of a trace were sealed without its older ones");
}

Error DamagedReads::report(Error error, const std::string& what) {
  const bool is_damage = error.code == ErrorCode::kCorrupt;
  error.message += std::string(is_damage ? "; " : "; try again; if the disk still cannot read it, ") +
                   "stop the server, and run 'fathom store verify " + path_ +
                   "' to find all damage, or 'fathom store repair " + path_ + " NEW_DIR' to salvage what is intact";
  damaged_reads().add();
  std::lock_guard lock(mutex_);
  ++unreported_;
  const uint64_t now = now_monotonic_nano();
  if (reported_monotonic_nano_ != 0 && now - reported_monotonic_nano_ < kIntervalNano) return error;
  log_error(what + " because " + (is_damage ? "stored data is damaged: " : "the disk cannot read stored data: ") +
            error.message + "; such reads since the last report: " + std::to_string(unreported_));
  unreported_ = 0;
  reported_monotonic_nano_ = now;
  return error;
}

}  // namespace fathom::store
