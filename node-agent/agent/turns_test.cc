#include "node-agent/agent/turns.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fathom::agent {
namespace {

using Waiter = std::string;

TEST(Turns, UsersTakeThemOneAfterTheOther) {
  Turns<Waiter> turns;
  std::vector<std::shared_ptr<Waiter>> all;
  for (const char* name : {"a1", "a2", "a3", "b1", "c1", "c2"}) {
    all.push_back(std::make_shared<Waiter>(name));
    turns.add(static_cast<uid_t>(name[0]), all.back());
  }
  std::string order;
  for (; !turns.empty(); turns.pop()) order += *turns.next() + " ";
  EXPECT_EQ(order, "a1 b1 c1 a2 c2 a3 ");
}

TEST(Turns, AUserMayBePassedOver) {
  Turns<Waiter> turns;
  auto one = std::make_shared<Waiter>("one"), two = std::make_shared<Waiter>("two");
  EXPECT_FALSE(turns.turn_to([](uid_t) { return true; }));
  turns.add(1, one);
  turns.add(2, two);
  EXPECT_FALSE(turns.turn_to([](uid_t) { return false; }));
  EXPECT_EQ(turns.next(), one);
  EXPECT_TRUE(turns.turn_to([](uid_t user) { return user == 2; }));
  EXPECT_EQ(turns.next(), two);
  turns.pop();
  EXPECT_EQ(turns.next(), one) << "and is still waiting";
}

TEST(Turns, WhoIsLetGoIsNotKept) {
  Turns<Waiter> turns;
  auto gone = std::make_shared<Waiter>("gone"), here = std::make_shared<Waiter>("here");
  std::weak_ptr<Waiter> seen = gone;
  turns.add(1, gone);
  turns.add(1, here);
  gone.reset();
  EXPECT_TRUE(seen.expired());
  EXPECT_EQ(turns.next(), nullptr);
  turns.pop();
  EXPECT_EQ(turns.next(), here);
}

// Nobody has a turn while there is no room for spans, and programs come and go.
TEST(Turns, TheyDoNotGrowWithThoseWhoAreGone) {
  Turns<Waiter> turns;
  auto first = std::make_shared<Waiter>("first");
  turns.add(1, first);
  for (int i = 0; i < 100'000; ++i) turns.add(1, std::make_shared<Waiter>("gone"));
  EXPECT_LT(turns.waiting(), 1000u);
  EXPECT_EQ(turns.next(), first);
}

TEST(Turns, TheyDoNotGrowWithUsersWhoAreGone) {
  Turns<Waiter> turns;
  auto first = std::make_shared<Waiter>("first"), last = std::make_shared<Waiter>("last");
  turns.add(1, first);
  for (uid_t user = 2; user < 20'000; ++user) turns.add(user, std::make_shared<Waiter>("gone"));
  turns.add(20'000, last);
  EXPECT_LT(turns.waiting(), 1000u);
  EXPECT_EQ(turns.next(), first);
  turns.pop();
  while (!turns.empty() && turns.next() == nullptr) turns.pop();
  ASSERT_FALSE(turns.empty());
  EXPECT_EQ(turns.next(), last);
}

}  // namespace
}  // namespace fathom::agent
