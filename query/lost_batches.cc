#include "query/lost_batches.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "query/instant_json.h"

namespace fathom::query {

namespace {

bool touches(const store::Loss& loss, const store::TimeRange& range) {
  return loss.latest_start_unix_nano >= range.from_unix_nano && loss.earliest_start_unix_nano < range.to_unix_nano;
}

void add(LostBatches& lost, const store::Loss& loss) {
  const bool first = lost.losses++ == 0;
  lost.first_received_unix_nano =
      first ? loss.first_received_unix_nano : std::min(lost.first_received_unix_nano, loss.first_received_unix_nano);
  lost.last_received_unix_nano = std::max(lost.last_received_unix_nano, loss.last_received_unix_nano);
  if (first) lost.most_batches = 0;
  if (lost.most_batches && loss.most_batches) {
    *lost.most_batches += *loss.most_batches;
  } else {
    lost.most_batches.reset();
  }
}

std::optional<LostBatches> add_up(const std::vector<store::Loss>& losses, const store::TimeRange& range) {
  LostBatches lost;
  for (const store::Loss& loss : losses) {
    if (touches(loss, range)) add(lost, loss);
  }
  return lost.losses > 0 ? std::optional(lost) : std::nullopt;
}

}  // namespace

std::optional<LostBatches> lost_batches(store::SpanStore& store, const store::TimeRange& range) {
  return add_up(store.losses(), range);
}

std::optional<LostBatches> lost_captures(store::CaptureStore* captures, const store::TimeRange& range) {
  return captures != nullptr ? add_up(captures->losses(), range) : std::nullopt;
}

void write_lost_batches(net::JsonWriter& json, const std::optional<LostBatches>& lost) {
  if (!lost) return;
  json.key("lost_batches").begin_object().member("losses", lost->losses);
  write_instant(json, "first_received_unix_nano", lost->first_received_unix_nano);
  write_instant(json, "last_received_unix_nano", lost->last_received_unix_nano);
  json.key("most_batches");
  lost->most_batches ? json.number(*lost->most_batches) : json.null();
  json.end_object();
}

std::string with_lost_batches(std::string object, const std::optional<LostBatches>& lost) {
  if (!lost) return object;
  std::string mark;
  net::JsonWriter json(mark);
  json.begin_object();
  write_lost_batches(json, lost);
  json.end_object();
  const size_t end = object.rfind('}');
  assert(end != std::string::npos);
  object.replace(end, 1, "," + mark.substr(1));
  return object;
}

}  // namespace fathom::query
