#include "node-agent/agent/metrics_face.h"

#include <gtest/gtest.h>

#include "base/metrics.h"

namespace fathom::agent {
namespace {

net::HttpResponse get(const std::string& path) {
  net::HttpResponse answered;
  net::HttpRequest request;
  request.method = "GET";
  request.path = path;
  MetricsFace().handle(std::move(request), [&](net::HttpResponse response) { answered = std::move(response); });
  return answered;
}

TEST(MetricsFace, ShowsWhatIsCounted) {
  counter("fathom_agent_face_test_total", "For this test.").add(3);
  net::HttpResponse response = get("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.body.find("fathom_agent_face_test_total 3"), std::string::npos);
  EXPECT_EQ(get("/healthz").body, "ok\n");
  EXPECT_EQ(get("/other").status, 404);
}

TEST(MetricsFace, IsOnlyAsked) {
  net::HttpRequest request;
  request.method = "GET";
  EXPECT_FALSE(MetricsFace().admit(request));
  request.method = "POST";
  std::optional<net::HttpResponse> refused = MetricsFace().admit(request);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 405);
}

}  // namespace
}  // namespace fathom::agent
