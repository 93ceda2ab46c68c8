// SlowestRequests: which requests are the slowest of their operation and minute, known at every moment of the minute.
//
// Purpose: flight recorders hold only the recent past, so whoever captures must decide at once and correct later: a
// request that is slower than the Kth slowest of its operation and minute so far takes that one's place. At the
// minute's end those that have a place are the K slowest, exactly. A request belongs to the minute in which it began,
// and may end later: a minute is closed some seconds behind its end, and whoever is slower than those that have a
// place comes late. Thread safety: none. Hostility: users have places of their own; a user's operations of a minute are
// bounded, and so are those who come late of an operation and minute. Bounds: `minutes` of options; requests of
// earlier ones are not wanted. Units: nanoseconds; minutes by any count that goes up.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace fathom::agent {

struct SlowestOptions {
  size_t per_minute = 2;                   // of an operation; and as many that come late
  size_t most_operations_of_user = 1'000;  // in a minute
  uint64_t minutes = 5;                    // that are closed, and known
};

class SlowestRequests {
 public:
  using Id = uint64_t;  // of a place that a request took; never used again

  explicit SlowestRequests(const SlowestOptions& options = {}) : options_(options) {}

  struct Request {
    uid_t user = 0;
    uint64_t operation = 0;  // a hash
    uint64_t minute = 0;
    uint64_t duration_nano = 0;
  };
  struct Placed {
    Id id = 0;
    std::optional<Id> displaced;  // who had the place until now
    bool is_late = false;         // its minute is closed
  };
  // All but the first mean that it may be slow enough, and gets no place all the same.
  enum class Refusal { kNotSlow, kTooOld, kTooManyOperations, kTooManyLate };
  // Why it would get no place; nothing: place() gives it one.
  std::optional<Refusal> why_not(const Request& request) const;
  std::optional<Placed> place(const Request& request);
  // Closes all minutes before this one, and forgets old ones. Those who have a place, and were not told before.
  std::vector<Id> close_before(uint64_t minute);

 private:
  struct Place {
    uint64_t duration_nano = 0;
    Id id = 0;
  };
  struct Operation {
    std::vector<Place> places;
    size_t late = 0;
  };
  struct Minute {
    std::map<uid_t, std::map<uint64_t, Operation>> users;  // by operation
    bool is_closed = false;
  };
  bool is_closed(uint64_t minute) const { return minute < open_from_; }

  SlowestOptions options_;
  std::map<uint64_t, Minute> minutes_;
  uint64_t open_from_ = 0;  // minutes before are closed
  Id last_id_ = 0;
};

}  // namespace fathom::agent
