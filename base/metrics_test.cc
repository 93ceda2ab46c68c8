#include "base/metrics.h"

#include <unistd.h>

#include <ctime>
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

TEST(Metrics, AHistogramIsRenderedAsPrometheusReadsOne) {
  static constexpr double kBounds[] = {0.001, 0.25, 10};
  MetricHistogram& one = histogram("fathom_test_duration_seconds", "How long.", kBounds, R"(query="a")");
  EXPECT_EQ(&one, &histogram("fathom_test_duration_seconds", "How long.", kBounds, R"(query="a")"));
  for (double value : {0.001, 0.125, 0.25, 3.0, 100.0}) one.observe(value);
  histogram("fathom_test_duration_seconds", "How long.", kBounds, R"(query="b")");
  const std::string expected = R"(# HELP fathom_test_duration_seconds How long.
# TYPE fathom_test_duration_seconds histogram
fathom_test_duration_seconds_bucket{query="a",le="0.001"} 1
fathom_test_duration_seconds_bucket{query="a",le="0.25"} 3
fathom_test_duration_seconds_bucket{query="a",le="10"} 4
fathom_test_duration_seconds_bucket{query="a",le="+Inf"} 5
fathom_test_duration_seconds_sum{query="a"} 103.376
fathom_test_duration_seconds_count{query="a"} 5
fathom_test_duration_seconds_bucket{query="b",le="0.001"} 0
)";
  EXPECT_NE(render_metrics().find(expected), std::string::npos) << render_metrics();
}

TEST(Metrics, AHistogramWithoutLabels) {
  static constexpr double kBounds[] = {1};
  histogram("fathom_test_plain_seconds", "Plain.", kBounds).observe(0.5);
  EXPECT_TRUE(rendered(R"(fathom_test_plain_seconds_bucket{le="1"} 1)"));
  EXPECT_TRUE(rendered("fathom_test_plain_seconds_sum 0.5"));
  EXPECT_TRUE(rendered("fathom_test_plain_seconds_count 1"));
}

double process_value(const std::string& name) {
  std::string text = "\n" + render_metrics();
  size_t found = text.find("\n" + name + " ");
  return found == std::string::npos ? -1 : std::stod(text.substr(found + name.size() + 2));
}

TEST(Metrics, TheSystemsWordOnThisProcess) {
  double files = process_value("process_open_fds");
  EXPECT_GE(files, 3);
  int pair[2];
  ASSERT_EQ(::pipe(pair), 0);
  EXPECT_EQ(process_value("process_open_fds"), files + 2);
  ::close(pair[0]);
  ::close(pair[1]);
  double resident = process_value("process_resident_memory_bytes");
  std::vector<char> memory(64 << 20, 1);
  EXPECT_GE(process_value("process_resident_memory_bytes"), resident + (32 << 20)) << memory.back();
  double now = static_cast<double>(::time(nullptr));
  EXPECT_GT(process_value("process_start_time_seconds"), now - 24 * 3600);
  EXPECT_LE(process_value("process_start_time_seconds"), now + 2);
  EXPECT_GT(process_value("process_cpu_seconds_total"), 0);
  EXPECT_TRUE(rendered("# TYPE process_cpu_seconds_total counter"));
  EXPECT_TRUE(rendered("# TYPE process_open_fds gauge"));
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
