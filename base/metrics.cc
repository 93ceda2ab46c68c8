#include "base/metrics.h"

#include <map>
#include <mutex>

namespace fathom {

namespace {

struct Family {
  std::string help;
  bool is_counter = true;
  std::map<std::string, Counter, std::less<>> counters;
  std::map<std::string, Gauge, std::less<>> gauges;
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

Family& family(Registry& registry, std::string_view name, std::string_view help, bool is_counter) {
  auto found = registry.families.find(name);
  if (found == registry.families.end()) {
    found = registry.families.try_emplace(std::string(name)).first;
    found->second.help = help;
    found->second.is_counter = is_counter;
  }
  return found->second;
}

void render_sample(std::string& out, const std::string& name, const std::string& labels, const std::string& value) {
  out += name;
  if (!labels.empty()) out += "{" + labels + "}";
  out += " " + value + "\n";
}

}  // namespace

Counter& counter(std::string_view name, std::string_view help, std::string_view labels) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  return family(all, name, help, true).counters.try_emplace(std::string(labels)).first->second;
}

Gauge& gauge(std::string_view name, std::string_view help, std::string_view labels) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  return family(all, name, help, false).gauges.try_emplace(std::string(labels)).first->second;
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
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  std::string out;
  for (const auto& [name, family] : all.families) {
    out += "# HELP " + name + " " + family.help + "\n";
    out += "# TYPE " + name + (family.is_counter ? " counter\n" : " gauge\n");
    for (const auto& [labels, series] : family.counters)
      render_sample(out, name, labels, std::to_string(series.value()));
    for (const auto& [labels, series] : family.gauges) render_sample(out, name, labels, std::to_string(series.value()));
  }
  return out;
}

}  // namespace fathom
