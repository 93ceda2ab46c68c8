// An open-loop load: requests start when a Poisson process says so, whether or not earlier ones are answered, and a
// request's time counts from when it should have started. A closed loop would be polite to a slow service and hide
// exactly the requests that there are to find.
//
// Thread safety: one thread calls run(); answers come on gRPC's. Ownership: run() returns when all are answered.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace shop {

struct LoadOptions {
  std::string gateway;
  double seconds = 20;  // 0: until told to stop
  double rate = 100;    // requests per second, on average
  uint64_t seed = 1;
  uint32_t items = 2000;               // how many of them customers know
  std::function<bool(int64_t)> pause;  // waits so many nanoseconds; true: stop
};

struct LoadOutcome {
  std::string json;     // one line, for programs and people
  uint64_t failed = 0;  // requests that the shop did not answer as it should
};

LoadOutcome run_load(const LoadOptions& options);

}  // namespace shop
