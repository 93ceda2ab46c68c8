#include "cli/known_names.h"

#include <gtest/gtest.h>

#include "cli/testing/fake_context.h"

namespace fathom::cli {
namespace {

constexpr const char* kNothing = R"({"rows":[],"next_cursor":""})";
constexpr const char* kKnownServices =
    R"({"services":[{"service":"catalog"},{"service":"gateway"},{"service":"gateway","service_namespace":"b"},{"service":"load"}]})";
constexpr const char* kKnownOperations = R"({"operations":[{"operation":"GET /"},{"operation":"GET /cart"}]})";
constexpr const char* kKeys = R"({"keys":["http.route","region","user.tier"]})";
constexpr const char* kRegions = R"({"key":"region","values":[{"value":"eu","spans":9},{"value":"us","spans":2}]})";

std::string said(const std::vector<std::string>& words, const std::vector<std::string>& answers) {
  FakeWorld world;
  for (const std::string& answer : answers) world.answer(200, answer);
  EXPECT_EQ(world.run(words), ExitCode::kOk);
  EXPECT_EQ(world.targets.size(), answers.size());
  for (size_t i = 1; i < world.targets.size(); ++i) {
    EXPECT_NE(world.targets[i].find("from=2026-11-21T01"), std::string::npos) << "their time: " << world.targets[i];
  }
  return world.err.substr(world.err.find('\n') + 1);
}

TEST(UnknownNames, AServiceIsToldWithThoseThereAre) {
  EXPECT_EQ(said({"slowest", "--service", "gatewya"}, {kNothing, kKnownServices}),
            "--service: no service is called 'gatewya' in this time (did you mean gateway?); there are gateway, "
            "catalog, load\n");
  EXPECT_EQ(said({"services", "--service", "x"}, {R"({"operations":[]})", kKnownServices}),
            "--service: no service is called 'x' in this time; there are catalog, gateway, load\n");
  EXPECT_EQ(said({"latency", "--service", "x"}, {R"({"points":[]})", R"({"services":[]})"}),
            "--service: no service is called 'x' in this time; there is none at all\n");
  EXPECT_EQ(said({"slowest", "--service", "load"}, {kNothing, kKnownServices}), "");
  EXPECT_EQ(said({"slowest"}, {kNothing}), "");
}

TEST(UnknownNames, AnOperationIsOneOfItsService) {
  EXPECT_EQ(said({"slowest", "--service", "gateway", "--operation", "GET /crat"},
                 {kNothing, kKnownServices, kKnownOperations}),
            "--operation: no operation of gateway is called 'GET /crat' in this time (did you mean GET /cart?); there "
            "are GET /cart, GET /\n");
  EXPECT_EQ(said({"slowest", "--operation", "GET /"}, {kNothing, kKnownOperations}), "");
}

TEST(UnknownNames, AnAttributeThatNobodyHas) {
  EXPECT_EQ(said({"slowest", "--where", "regoin=eu"}, {kNothing, kKeys}),
            "--where: no span has an attribute 'regoin' in this time (did you mean region?); there are region, "
            "http.route, user.tier\n");
  EXPECT_EQ(said({"slowest", "--where", "region=ue"}, {kNothing, kKeys, kRegions}),
            "--where: of region there are eu, us\n");
  EXPECT_EQ(said({"slowest", "--where", "region=eu"}, {kNothing, kKeys, kRegions}), "");
  EXPECT_EQ(said({"slowest", "--where", " region = ue"}, {kNothing, kKeys, kRegions}),
            "--where: of region there are eu, us\n");
}

// A comparison has no value to look up, only a key.
TEST(UnknownNames, AConditionOfAnyKindHasItsKeyLookedUp) {
  for (const char* known : {"user.tier>=4", "user.tier<4", "user.tier != gold", "user.tier"}) {
    EXPECT_EQ(said({"slowest", "--where", known}, {kNothing, kKeys}), "") << known;
  }
  for (const char* unknown : {"user.teir>=4", "user.teir < 4", "user.teir!=gold", "user.teir"}) {
    EXPECT_EQ(said({"slowest", "--where", unknown}, {kNothing, kKeys}),
              "--where: no span has an attribute 'user.teir' in this time (did you mean user.tier?); there are "
              "user.tier, http.route, region\n")
        << unknown;
  }
  for (const char* nothing_to_say : {"!user.teir", "! region", "\"user.teir\"=1"}) {
    EXPECT_EQ(said({"slowest", "--where", nothing_to_say}, {kNothing, kKeys}), "") << nothing_to_say;
  }
}

TEST(UnknownNames, OfManyTenAreNamed) {
  std::string many = R"({"services":[{"service":"s0"})";
  for (int i = 1; i < 13; ++i) many += R"(,{"service":"s)" + std::to_string(i) + R"("})";
  const std::string text = said({"slowest", "--service", "x"}, {kNothing, many + "]}"});
  EXPECT_TRUE(text.ends_with("s8, s9, and 3 more\n")) << text;
}

TEST(UnknownNames, ProgramsAreNotTold) {
  FakeWorld world;
  world.answer(200, kNothing);
  EXPECT_EQ(world.run({"slowest", "--service", "x", "--format", "json"}), ExitCode::kOk);
  EXPECT_EQ(world.targets.size(), 1u);
}

}  // namespace
}  // namespace fathom::cli
