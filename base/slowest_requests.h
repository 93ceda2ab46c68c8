// SlowestRequests: which requests are the slowest of their operation and minute, known at every moment of the minute.
//
// Purpose: flight recorders hold only the recent past, so a capture must be decided at once and corrected later. A
// request that is slower than the Kth slowest of its operation and minute so far takes that one's place. At the end of
// the minute, the requests with a place are exactly the K slowest. A request belongs to the minute in which it began,
// and may end later. A minute is closed some seconds after its end; a request that ends after that and is slower than
// one with a place is late. Thread safety: none. Hostility: each user has separate places; a user's operations in a
// minute are bounded, and so are the late requests of an operation and minute. Bounds: requests of minutes before the
// last `minutes` closed ones get no place. Units: nanoseconds; minutes by any increasing count.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace fathom {

struct SlowestOptions {
  size_t per_minute = 2;                   // places of an operation; also the limit of its late requests
  size_t most_operations_of_user = 1'000;  // in one minute
  uint64_t minutes = 5;                    // closed minutes that still accept late requests
};

class SlowestRequests {
 public:
  using Id = uint64_t;  // of a request's place; never reused

  explicit SlowestRequests(const SlowestOptions& options = {}) : options_(options) {}

  struct Request {
    uid_t user = 0;
    uint64_t operation = 0;  // a hash
    uint64_t minute = 0;
    uint64_t duration_nano = 0;
  };
  struct Placed {
    Id id = 0;
    std::optional<Id> displaced;  // the request that had the place before
    bool is_late = false;         // its minute was closed before
  };
  // All except kNotSlow: the request may be slow enough, but gets no place.
  enum class Refusal { kNotSlow, kTooOld, kTooManyOperations, kTooManyLate };
  // The reason why place() would give it no place; no value: it would get one.
  std::optional<Refusal> why_not(const Request& request) const;
  std::optional<Placed> place(const Request& request);
  // Closes all minutes before this one, and forgets old ones. Returns the places of the newly closed minutes.
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
  uint64_t open_from_ = 0;  // all earlier minutes are closed
  Id last_id_ = 0;
};

}  // namespace fathom
