// Tests of POST and GET /api/v1/purge.
#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <string>

#include "query/purge/purge_routes.h"

namespace fathom::query {
namespace {

net::HttpRequest post(std::string body) {
  net::HttpRequest request;
  request.method = "POST";
  request.path = PurgeRoutes::kPath;
  request.body = std::move(body);
  return request;
}

net::HttpRequest get() {
  net::HttpRequest request;
  request.method = "GET";
  request.path = PurgeRoutes::kPath;
  return request;
}

bool is_readable(const PurgeDesk& desk) {
  pollfd event{desk.wait_descriptor(), POLLIN, 0};
  return ::poll(&event, 1, 0) == 1;
}

TEST(PurgeRoutes, OnePurgeAtATimeAndItsOutcomeIsTold) {
  auto desk = std::make_shared<PurgeDesk>();
  const PurgeRoutes routes(desk);
  EXPECT_EQ(routes.answer(get()).body, R"({"id":"","state":"none"})");
  EXPECT_FALSE(is_readable(*desk));
  EXPECT_EQ(routes.answer(post(R"({"where":["user.id=4711", "a>3"]})")).status, 202);
  EXPECT_TRUE(is_readable(*desk));
  EXPECT_EQ(routes.answer(post(R"({"where":["user.id=4711"]})")).status, 503);
  const std::vector<store::Condition> where = desk->take();
  ASSERT_EQ(where.size(), 2u);
  EXPECT_EQ(where[0].key, "user.id");
  EXPECT_EQ(where[1].compare, store::Compare::kGreater);
  EXPECT_FALSE(is_readable(*desk));
  EXPECT_TRUE(desk->take().empty()) << "conditions are not kept";
  EXPECT_NE(routes.answer(get()).body.find(R"("state":"running")"), std::string::npos);
  desk->finish(PurgeCounts{.traces = 3, .spans = 7, .unreadable_captures = {"ab"}});
  const std::string done = routes.answer(get()).body;
  EXPECT_NE(done.find(R"("state":"done")"), std::string::npos);
  EXPECT_NE(done.find(R"("traces":3,"spans":7)"), std::string::npos);
  EXPECT_NE(done.find(R"("unreadable_captures":["ab"])"), std::string::npos);
  EXPECT_EQ(routes.answer(post(R"({"where":["b"]})")).status, 202);
  desk->finish(invalid("no room"));
  EXPECT_NE(routes.answer(get()).body.find(R"("error":"no room")"), std::string::npos);
}

TEST(PurgeRoutes, WhatIsNoRequestIsRefusedWithTheForm) {
  const PurgeRoutes routes(std::make_shared<PurgeDesk>());
  for (const char* body : {"", "[]", "{}", R"({"where":[]})", R"({"where":"a=b"})", R"({"where":[1]})",
                           R"({"where":["a=b"],"all":true})", R"({"where":["a~b"]})", R"({"where":[""]})"}) {
    EXPECT_EQ(routes.answer(post(body)).status, 400) << body;
  }
  std::string many = R"({"where":["a")";
  for (int i = 0; i < 16; ++i) many += R"(,"a")";
  EXPECT_EQ(routes.answer(post(many + "]}")).status, 400);
  EXPECT_EQ(PurgeRoutes(nullptr).answer(get()).status, 403);
}

// A form of another site's page can be posted without asking first.
TEST(PurgeRoutes, ABodyMustBeCalledJson) {
  net::HttpRequest request = post(R"({"where":["a"]})");
  request.headers = {{"content-type", "text/plain"}};
  ASSERT_TRUE(PurgeRoutes::refuse(request));
  EXPECT_EQ(PurgeRoutes::refuse(request)->status, 415);
  request.headers = {{"content-type", "application/json"}};
  EXPECT_FALSE(PurgeRoutes::refuse(request));
  request.method = "DELETE";
  EXPECT_EQ(PurgeRoutes::refuse(request)->status, 405);
}

}  // namespace
}  // namespace fathom::query
