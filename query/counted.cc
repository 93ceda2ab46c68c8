#include "query/counted.h"

#include <string>

#include "base/time.h"

namespace fathom::query {

store::TimeRange whole_minutes(const store::TimeRange& range) {
  const uint64_t beyond = range.to_unix_nano % kNanosPerMinute;
  return {range.from_unix_nano - range.from_unix_nano % kNanosPerMinute,
          beyond == 0 ? range.to_unix_nano : store::end_of(range.to_unix_nano, kNanosPerMinute - beyond)};
}

Result<store::TimeRange> counted_time(store::SpanStore& store, const store::TimeRange& range, uint64_t now_unix_nano,
                                      store::QueryBudget& budget) {
  store::TimeRange counted = whole_minutes(range);
  // Of a future that has spans all the same, by somebody's clock, nothing is known.
  if (counted.from_unix_nano < now_unix_nano) counted.to_unix_nano = std::min(counted.to_unix_nano, now_unix_nano);
  const uint64_t received = store.stats().oldest_received_unix_nano;
  if (received <= counted.from_unix_nano) return counted;
  auto first = store.first_start(counted, budget);
  if (!first) return first.error();
  const uint64_t began = std::min(received, first->value_or(received));
  counted.from_unix_nano = std::min(std::max(counted.from_unix_nano, began), counted.to_unix_nano);
  return counted;
}

void write_counted(net::JsonWriter& json, const store::TimeRange& counted) {
  json.member("counted_from_unix_nano", std::string_view(std::to_string(counted.from_unix_nano)));
  json.member("counted_to_unix_nano", std::string_view(std::to_string(counted.to_unix_nano)));
  json.member("counted_nano", length_nano(counted));
}

}  // namespace fathom::query
