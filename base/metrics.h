// The process's metrics: counters, gauges and loss counters, as Prometheus will read them.
//
// Purpose: one registry per process; whoever can drop data names a counter `fathom_lost_..._total` or
// `fathom_rejected_..._total` here and adds to it at that very place. Thread safety: all of it; adding is one relaxed
// atomic add. Ownership: the registry owns every series for the life of the process, so references stay valid.
// Names: Prometheus's own rules; base units; `labels` is the inside of the braces, e.g. `reason="oversized"`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

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

// The series with this name and these labels, made at the first call. `help` of the first call of a name stands.
Counter& counter(std::string_view name, std::string_view help, std::string_view labels = "");
Gauge& gauge(std::string_view name, std::string_view help, std::string_view labels = "");

// One label as it stands inside the braces, its value escaped; several are joined with commas.
std::string label(std::string_view name, std::string_view value);

// Every series in Prometheus's text format, families sorted by name.
std::string render_metrics();

}  // namespace fathom
