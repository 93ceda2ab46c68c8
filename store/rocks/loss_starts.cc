#include "store/rocks/loss_starts.h"

#include <algorithm>

#include "base/time.h"

namespace fathom::store {

namespace {

constexpr uint64_t kNearNano = kNanosPerHour;

// Stored spans that were received together, and the bounds of their starts. Times are Unix times, and inclusive.
struct StoredStarts {
  UnixSpan received;
  uint64_t min_start_unix_nano = 0;
  uint64_t max_start_unix_nano = 0;
};

std::vector<StoredStarts> stored_starts(const View& view, const AgeTime& time) {
  std::vector<StoredStarts> all;
  all.reserve(view.segments.size() + view.generations.size());
  for (const SegmentInfoPtr& segment : view.segments) {
    all.push_back({time.unix_span(segment->first_received_unix_nano, segment->last_received_unix_nano),
                   segment->min_start_unix_nano, segment->max_start_unix_nano});
  }
  for (const auto& generation : view.generations) {
    auto lock = generation->read();
    const std::vector<Generation::Source>& sources = generation->sources();
    if (generation->rows().empty()) continue;
    all.push_back({time.unix_span(sources.front().received_unix_nano, sources.back().received_unix_nano),
                   generation->min_start_unix_nano(), generation->max_start_unix_nano()});
  }
  return all;
}

// Written without sums, which could overflow.
bool is_near(const UnixSpan& received, const Loss& loss) {
  if (received.first_nano > loss.last_received_unix_nano) {
    return received.first_nano - loss.last_received_unix_nano <= kNearNano;
  }
  return received.last_nano >= loss.first_received_unix_nano ||
         loss.first_received_unix_nano - received.last_nano <= kNearNano;
}

void widen(Loss& loss, const std::vector<StoredStarts>& stored) {
  for (const StoredStarts& starts : stored) {
    if (!is_near(starts.received, loss)) continue;
    loss.earliest_start_unix_nano = std::min(loss.earliest_start_unix_nano, starts.min_start_unix_nano);
    loss.latest_start_unix_nano = std::max(loss.latest_start_unix_nano, starts.max_start_unix_nano);
  }
}

}  // namespace

std::vector<Loss> known_losses(const Engine& engine) {
  const AgeTime time = engine.clock->time();
  std::vector<Loss> losses = engine.losses.all(time);
  if (losses.empty()) return losses;
  const std::vector<StoredStarts> stored = stored_starts(*engine.views.get(), time);
  for (Loss& loss : losses) widen(loss, stored);
  return losses;
}

std::vector<Loss> known_span_losses(const Engine& engine) {
  std::vector<Loss> losses = known_losses(engine);
  std::erase_if(losses, [](const Loss& loss) { return loss.most_batches == 0; });
  return losses;
}

}  // namespace fathom::store
