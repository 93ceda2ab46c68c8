#include "bench/ui/browser_steps.h"

#include <boost/json.hpp>
#include <filesystem>

#include "bench/tracers/subprocess.h"

namespace fathom::bench {

namespace {

using boost::json::object;

std::string text_of(const object& from, std::string_view key) {
  const boost::json::value* found = from.if_contains(key);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

const boost::json::array& list_of(const object& from, std::string_view key) {
  static const boost::json::array kNone;
  const boost::json::value* found = from.if_contains(key);
  return found != nullptr && found->is_array() ? found->get_array() : kNone;
}

Result<> add_figure(Report& report, const boost::json::value& told) {
  const object* figure = told.if_object();
  const boost::json::value* value = figure != nullptr ? figure->if_contains("value") : nullptr;
  if (value == nullptr || !value->is_number()) return corrupt("no figure: " + boost::json::serialize(told));
  report.add(text_of(*figure, "key"), value->to_number<double>(), text_of(*figure, "what"));
  return {};
}

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  const size_t before = text.rfind('\n');
  return before == std::string::npos ? text : text.substr(before + 1);
}

}  // namespace

std::string missing_for_browser(const BrowserPlaces& places) {
  if (!tracers::program_is_installed("node"))
    return "node is not installed: apt install nodejs npm (./dev bench ui does)";
  if (!std::filesystem::exists(places.chromium))
    return places.chromium + " is not there: apt install chromium (./dev bench ui does), or --chromium names another";
  if (!std::filesystem::exists(places.ui + "/node_modules/playwright-core"))
    return "playwright-core is not there: npm ci --prefix " + places.ui + " (./dev bench ui does)";
  return {};
}

Result<> add_told(Report& report, std::string_view line) {
  boost::system::error_code error;
  const boost::json::value parsed = boost::json::parse(line, error);
  const object* told = error ? nullptr : parsed.if_object();
  if (told == nullptr) return corrupt("no figures in: " + std::string(line));
  for (const auto& [key, value] : *told) {
    if (value.is_number()) report.add(std::string(key), value.to_number<double>(), "");
  }
  for (const auto& figure : list_of(*told, "figures")) {
    if (Result<> added = add_figure(report, figure); !added) return added;
  }
  for (const auto& one : list_of(*told, "not_measured")) {
    if (const object* named = one.if_object()) report.add_unmeasured(text_of(*named, "key"), text_of(*named, "why"));
  }
  for (const auto& note : list_of(*told, "notes")) {
    if (note.is_string()) report.note(std::string(note.get_string()));
  }
  return {};
}

Result<> add_measured(Report& report, const std::vector<std::string>& command, const BrowserPlaces& places,
                      int limit_seconds) {
  Result<tracers::Ended> ended = tracers::run_to_end({command, {{"CHROMIUM", places.chromium}}}, limit_seconds);
  if (!ended) return ended.error();
  if (!ended->fine()) return unavailable(command[0] + " " + command[1] + ": " + ended->output);
  return add_told(report, last_line(ended->output));
}

}  // namespace fathom::bench
