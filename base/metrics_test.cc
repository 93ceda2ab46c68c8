#include "base/metrics.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace fathom {
namespace {

bool rendered(const std::string& line) {
  return render_metrics().find(line + "\n") != std::string::npos;
}

TEST(Metrics, TheSameNameAndLabelsAreTheSameSeries) {
  Counter& one = counter("fathom_test_same_total", "Help.", R"(reason="a")");
  Counter& again = counter("fathom_test_same_total", "Other help.", R"(reason="a")");
  Counter& other = counter("fathom_test_same_total", "Help.", R"(reason="b")");
  EXPECT_EQ(&one, &again);
  EXPECT_NE(&one, &other);
}

TEST(Metrics, LabelsAreEscaped) {
  EXPECT_EQ(label("reason", "age"), R"(reason="age")");
  EXPECT_EQ(label("service", "a\"b\\c\nd"), R"(service="a\"b\\c\nd")");
}

TEST(Metrics, RendersPrometheusText) {
  counter("fathom_test_text_total", "What it counts.", R"(reason="a")").add(3);
  counter("fathom_test_text_total", "What it counts.", R"(reason="b")").add();
  gauge("fathom_test_text_bytes", "How much.").set(-5);
  EXPECT_TRUE(rendered("# HELP fathom_test_text_total What it counts."));
  EXPECT_TRUE(rendered("# TYPE fathom_test_text_total counter"));
  EXPECT_TRUE(rendered(R"(fathom_test_text_total{reason="a"} 3)"));
  EXPECT_TRUE(rendered(R"(fathom_test_text_total{reason="b"} 1)"));
  EXPECT_TRUE(rendered("# TYPE fathom_test_text_bytes gauge"));
  EXPECT_TRUE(rendered("fathom_test_text_bytes -5"));
}

TEST(Metrics, FamiliesAreSortedAndTheirSeriesTogether) {
  counter("fathom_test_z_total", "Z.", R"(k="1")");
  counter("fathom_test_a_total", "A.");
  counter("fathom_test_z_total", "Z.", R"(k="2")");
  std::string text = render_metrics();
  EXPECT_LT(text.find("fathom_test_a_total"), text.find("fathom_test_z_total"));
  EXPECT_EQ(text.find("# TYPE fathom_test_z_total"), text.rfind("# TYPE fathom_test_z_total"));
}

TEST(Metrics, GaugesMove) {
  Gauge& level = gauge("fathom_test_level", "Level.");
  level.set(10);
  level.add(-4);
  EXPECT_EQ(level.value(), 6);
}

TEST(Metrics, NoAddIsLost) {
  Counter& shared = counter("fathom_test_threads_total", "Threads.");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) shared.add();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.value(), 40'000u);
}

}  // namespace
}  // namespace fathom
