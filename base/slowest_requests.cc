#include "base/slowest_requests.h"

#include <algorithm>

namespace fathom {

std::optional<SlowestRequests::Refusal> SlowestRequests::why_not(const Request& request) const {
  if (request.minute + options_.minutes < open_from_) return Refusal::kTooOld;
  auto minute = minutes_.find(request.minute);
  if (minute == minutes_.end()) return std::nullopt;
  auto user = minute->second.users.find(request.user);
  if (user == minute->second.users.end()) return std::nullopt;
  auto operation = user->second.find(request.operation);
  if (operation == user->second.end()) {
    if (user->second.size() < options_.most_operations_of_user) return std::nullopt;
    return Refusal::kTooManyOperations;
  }
  const auto& [places, late] = operation->second;
  if (places.size() == options_.per_minute) {
    const Place& least = *std::ranges::min_element(places, {}, &Place::duration_nano);
    if (request.duration_nano <= least.duration_nano) return Refusal::kNotSlow;
  }
  if (is_closed(request.minute) && late == options_.per_minute) return Refusal::kTooManyLate;
  return std::nullopt;
}

std::optional<SlowestRequests::Placed> SlowestRequests::place(const Request& request) {
  if (why_not(request)) return std::nullopt;
  Minute& minute = minutes_[request.minute];
  Placed placed{.id = ++last_id_, .displaced = {}, .is_late = is_closed(request.minute)};
  minute.is_closed = placed.is_late;
  auto& [places, late] = minute.users[request.user][request.operation];
  if (placed.is_late) ++late;
  if (places.size() < options_.per_minute) {
    places.push_back({request.duration_nano, placed.id});
    return placed;
  }
  Place& least = *std::ranges::min_element(places, {}, &Place::duration_nano);
  placed.displaced = least.id;
  least = {request.duration_nano, placed.id};
  return placed;
}

std::vector<SlowestRequests::Id> SlowestRequests::close_before(uint64_t minute) {
  std::vector<Id> ids;
  open_from_ = std::max(open_from_, minute);
  for (auto& [number, known] : minutes_) {
    if (!is_closed(number) || known.is_closed) continue;
    known.is_closed = true;
    for (const auto& [user, operations] : known.users) {
      for (const auto& [hash, operation] : operations) {
        for (const Place& place : operation.places) ids.push_back(place.id);
      }
    }
  }
  minutes_.erase(minutes_.begin(), minutes_.lower_bound(open_from_ - std::min(open_from_, options_.minutes)));
  return ids;
}

}  // namespace fathom
