#include "base/metrics.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>

#include "base/process_metrics.h"

namespace fathom {

namespace {

struct Family {
  std::string help;
  const char* type;
  std::map<std::string, Counter, std::less<>> counters;
  std::map<std::string, Gauge, std::less<>> gauges;
  std::map<std::string, MetricHistogram, std::less<>> histograms;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, Family, std::less<>> families;
};

Registry& registry() {
  // Leaked on purpose: threads may still count while statics are destroyed.
  static Registry* instance = new Registry;
  return *instance;
}

Family& family(Registry& registry, std::string_view name, std::string_view help, const char* type) {
  auto found = registry.families.find(name);
  if (found == registry.families.end()) {
    found = registry.families.try_emplace(std::string(name)).first;
    found->second.help = help;
    found->second.type = type;
  }
  return found->second;
}

void render_sample(std::string& out, const std::string& name, const std::string& labels, const std::string& value) {
  out += name;
  if (!labels.empty()) out += "{" + labels + "}";
  out += " " + value + "\n";
}

// The shortest text that reads back as the same number.
std::string number_text(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

void render_histogram(std::string& out, const std::string& name, const std::string& labels,
                      const MetricHistogram& histogram) {
  std::string before = labels.empty() ? "" : labels + ",";
  std::span<const double> bounds = histogram.bounds();
  for (size_t i = 0; i < bounds.size(); ++i) {
    render_sample(out, name + "_bucket", before + label("le", number_text(bounds[i])),
                  std::to_string(histogram.count_up_to(i)));
  }
  // Read once: the last bucket and the count must be the same number whatever is observed meanwhile.
  std::string all = std::to_string(histogram.count_up_to(bounds.size()));
  render_sample(out, name + "_bucket", before + label("le", "+Inf"), all);
  render_sample(out, name + "_sum", labels, number_text(histogram.sum()));
  render_sample(out, name + "_count", labels, all);
}

void render_head(std::string& out, const std::string& name, const std::string& help, const std::string& type) {
  out += "# HELP " + name + " " + help + "\n";
  out += "# TYPE " + name + " " + type + "\n";
}

void render_family(std::string& out, const std::string& name, const Family& family) {
  render_head(out, name, family.help, family.type);
  for (const auto& [labels, series] : family.counters) render_sample(out, name, labels, std::to_string(series.value()));
  for (const auto& [labels, series] : family.gauges) render_sample(out, name, labels, std::to_string(series.value()));
  for (const auto& [labels, series] : family.histograms) render_histogram(out, name, labels, series);
}

}  // namespace

void MetricHistogram::observe(double value) {
  auto bound = std::lower_bound(bounds_.begin(), bounds_.end(), value);
  counts_[static_cast<size_t>(bound - bounds_.begin())].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

uint64_t MetricHistogram::count_up_to(size_t index) const {
  uint64_t total = 0;
  for (size_t i = 0; i <= index; ++i) total += counts_[i].load(std::memory_order_relaxed);
  return total;
}

Counter& counter(std::string_view name, std::string_view help, std::string_view labels) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  return family(all, name, help, "counter").counters.try_emplace(std::string(labels)).first->second;
}

Gauge& gauge(std::string_view name, std::string_view help, std::string_view labels) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  return family(all, name, help, "gauge").gauges.try_emplace(std::string(labels)).first->second;
}

MetricHistogram& histogram(std::string_view name, std::string_view help, std::span<const double> bounds,
                           std::string_view labels) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  return family(all, name, help, "histogram").histograms.try_emplace(std::string(labels), bounds).first->second;
}

std::string label(std::string_view name, std::string_view value) {
  std::string out = std::string(name) + "=\"";
  for (char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out + '"';
}

std::string render_metrics() {
  std::string out;
  {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    for (const auto& [name, family] : all.families) render_family(out, name, family);
  }
  for (const ProcessMetric& metric : process_metrics()) {
    render_head(out, metric.name, metric.help, metric.type);
    render_sample(out, metric.name, "", number_text(metric.value));
  }
  return out;
}

}  // namespace fathom
