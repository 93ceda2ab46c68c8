#include "store/verify/findings.h"

#include <algorithm>
#include <utility>

namespace fathom::store {

namespace {

TimeRange to_unix(const TimeRange& stamps, const AgeTime& time) {
  const uint64_t first = stamps.from_unix_nano, last = std::max(first, std::max(stamps.to_unix_nano, uint64_t{1}) - 1);
  const UnixSpan span = time.unix_span(first, last);
  return {.from_unix_nano = first == 0 ? 0 : span.first_nano,
          .to_unix_nano = stamps.to_unix_nano == UINT64_MAX ? UINT64_MAX : end_of(span.last_nano, 1)};
}

}  // namespace

PartCount& Findings::count_of(const std::string& part) {
  const auto found = std::ranges::find(parts_, part, &PartCount::part);
  return found != parts_.end() ? *found : parts_.emplace_back(PartCount{part, 0, 0});
}

void Findings::damaged(Damage damage) {
  std::optional<TimeRange>& received = damage.affected.received;
  if (received) received = to_unix(*received, time_);
  ++count_of(damage.part).damaged;
  ++damage_count_;
  if (damages_.size() < kMostDamages) damages_.push_back(std::move(damage));
}

void Findings::add_record(const LossRecord& record) {
  for (const Loss& loss : losses_of_record(record, time_)) {
    if (loss.most_batches != 0) known_loss(loss);
  }
}

void Findings::read_bytes(uint64_t bytes) {
  done_bytes_ += bytes;
  if (progress_) progress_(std::min(done_bytes_, total_bytes_), total_bytes_);
}

}  // namespace fathom::store
