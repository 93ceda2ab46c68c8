#include "base/slowest_requests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

namespace fathom {
namespace {

using Refusal = SlowestRequests::Refusal;
using Request = SlowestRequests::Request;
using Ids = std::vector<SlowestRequests::Id>;

Request request(uint64_t operation, uint64_t minute, uint64_t duration_nano, uid_t user = 1000) {
  return {user, operation, minute, duration_nano};
}

TEST(SlowestRequests, WhoeverIsSlowerTakesThePlace) {
  SlowestRequests slowest({.per_minute = 1});
  const auto first = slowest.place(request(1, 100, 5));
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->displaced);
  EXPECT_EQ(slowest.why_not(request(1, 100, 5)), Refusal::kNotSlow);
  EXPECT_FALSE(slowest.place(request(1, 100, 5)));
  EXPECT_FALSE(slowest.why_not(request(2, 100, 1))) << "another operation";
  EXPECT_FALSE(slowest.why_not(request(1, 101, 1))) << "another minute";
  EXPECT_FALSE(slowest.why_not(request(1, 100, 1, 2000))) << "another user";
  const auto second = slowest.place(request(1, 100, 6));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->displaced, first->id);
  EXPECT_EQ(slowest.close_before(101), Ids{second->id});
  EXPECT_EQ(slowest.close_before(101), Ids()) << "told once";
}

TEST(SlowestRequests, OfThoseWhoComeLateAsManyCountAsHavePlaces) {
  SlowestRequests slowest({.per_minute = 2});
  const auto first = slowest.place(request(1, 100, 5));
  slowest.place(request(1, 100, 6));
  slowest.close_before(102);
  EXPECT_EQ(slowest.why_not(request(1, 100, 5)), Refusal::kNotSlow);
  const auto late = slowest.place(request(1, 100, 7));
  ASSERT_TRUE(late);
  EXPECT_TRUE(late->is_late);
  EXPECT_EQ(late->displaced, first->id);
  EXPECT_TRUE(slowest.place(request(1, 100, 8)));
  EXPECT_EQ(slowest.why_not(request(1, 100, 9)), Refusal::kTooManyLate) << "each is slower than the one before";
  EXPECT_EQ(slowest.why_not(request(1, 100, 7)), Refusal::kNotSlow) << "even if there are too many";
  EXPECT_TRUE(slowest.place(request(2, 97, 1))) << "the first request of its operation";
  EXPECT_EQ(slowest.why_not(request(2, 96, 1)), Refusal::kTooOld);
  EXPECT_EQ(slowest.close_before(110), Ids());
}

TEST(SlowestRequests, AUsersOperationsAreBounded) {
  SlowestRequests slowest({.per_minute = 1, .most_operations_of_user = 2});
  slowest.place(request(1, 100, 5));
  slowest.place(request(2, 100, 5));
  EXPECT_EQ(slowest.why_not(request(3, 100, 500)), Refusal::kTooManyOperations);
  EXPECT_FALSE(slowest.why_not(request(1, 100, 6)));
  EXPECT_FALSE(slowest.why_not(request(3, 101, 5)));
  EXPECT_FALSE(slowest.why_not(request(3, 100, 5, 2000)));
}

// Compares with a list of all requests: at each minute's end, the K slowest have the places.
TEST(SlowestRequests, AtTheEndThoseWithAPlaceAreTheSlowest) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    const size_t per_minute = 1 + random() % 3;
    SlowestRequests slowest({.per_minute = per_minute});
    using Of = std::pair<uint64_t, uint64_t>;  // minute and operation
    std::map<SlowestRequests::Id, Request> placed;
    std::map<Of, std::vector<uint64_t>> all;
    for (int i = 0; i < 2000; ++i) {
      const Request next = request(random() % 5, 100 + random() % 3, random());
      all[{next.minute, next.operation}].push_back(next.duration_nano);
      const auto place = slowest.place(next);
      if (!place) continue;
      placed[place->id] = next;
      if (place->displaced) placed.erase(*place->displaced);
    }
    std::map<Of, std::multiset<uint64_t>> kept;
    for (SlowestRequests::Id id : slowest.close_before(200)) {
      const Request& of = placed.at(id);
      kept[{of.minute, of.operation}].insert(of.duration_nano);
    }
    for (auto& [of, durations] : all) {
      std::ranges::sort(durations, std::greater<>());
      durations.resize(std::min(durations.size(), per_minute));
      EXPECT_EQ(kept[of], std::multiset<uint64_t>(durations.begin(), durations.end())) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace fathom
