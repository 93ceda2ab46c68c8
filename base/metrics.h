// The process's metrics: counters, gauges, histograms and loss counters, as Prometheus will read them.
//
// Purpose: one registry per process; whoever can drop data names a counter `fathom_lost_..._total` or
// `fathom_rejected_..._total` here and adds to it at that very place. Thread safety: all of it; adding is one relaxed
// atomic add. Ownership: the registry owns every series for the life of the process, so references stay valid.
// Names: Prometheus's own rules; base units; `labels` is the inside of the braces, e.g. `reason="oversized"`.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fathom {

class Counter {
 public:
  void add(uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

class Gauge {
 public:
  void set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add(int64_t n) { value_.fetch_add(n, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// How values are spread over fixed buckets; rendered as a Prometheus histogram. A value counts once in its own bucket
// and is added up when it is read, so that observing costs two relaxed adds.
class MetricHistogram {
 public:
  // `bounds`: the buckets' inclusive upper ends, ascending; what is beyond the last is in a bucket of its own. They
  // must outlive the process's last reading, as constants do.
  explicit MetricHistogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

  void observe(double value);
  std::span<const double> bounds() const { return bounds_; }
  // Values at or below bound `index`; with `index` the number of bounds: all of them.
  uint64_t count_up_to(size_t index) const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::span<const double> bounds_;
  std::vector<std::atomic<uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

// The series with this name and these labels, made at the first call. `help` of the first call of a name stands.
Counter& counter(std::string_view name, std::string_view help, std::string_view labels = "");
Gauge& gauge(std::string_view name, std::string_view help, std::string_view labels = "");
MetricHistogram& histogram(std::string_view name, std::string_view help, std::span<const double> bounds,
                           std::string_view labels = "");

// One label as it stands inside the braces, its value escaped; several are joined with commas.
std::string label(std::string_view name, std::string_view value);

// Every series in Prometheus's text format, families sorted by name; with what the system says of this process, as of
// now.
std::string render_metrics();

}  // namespace fathom
