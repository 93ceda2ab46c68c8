#include "cli/tracepoint_table.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "cli/api.h"
#include "cli/table.h"
#include "cli/value_text.h"

namespace fathom::cli {

namespace {

struct Place {
  std::string name;
  std::string file;
  uint64_t line = 0;
  std::string service;
  auto operator<=>(const Place&) const = default;
};
struct Programs {
  uint64_t all = 0;
  uint64_t on = 0;
};
using Places = std::map<Place, Programs>;

void add_program(const boost::json::value& program, Places& places) {
  for (const boost::json::value& tracepoint : array_of(program, "tracepoints")) {
    Programs& programs = places[{text_of(tracepoint, "name"), text_of(tracepoint, "file"),
                                 number_of(tracepoint, "line"), text_of(program, "service")}];
    ++programs.all;
    programs.on += flag_of(tracepoint, "on") ? 1 : 0;
  }
}

Places places_of(const boost::json::array& nodes) {
  Places places;
  for (const boost::json::value& node : nodes) {
    for (const boost::json::value& program : array_of(node, "programs")) add_program(program, places);
  }
  return places;
}

std::string switch_text(const Programs& programs) {
  if (programs.on == 0) return "off";
  return programs.on == programs.all ? "on" : "on in " + std::to_string(programs.on);
}

}  // namespace

std::string tracepoint_table(const boost::json::array& nodes, size_t columns) {
  Places places = places_of(nodes);
  if (places.empty()) return "";
  Table table({{"TRACEPOINT", Align::kLeft, true},
               {"SERVICE", Align::kLeft, true},
               {"PROGRAMS", Align::kRight},
               {"STATE"},
               {"PLACE", Align::kLeft, true}});
  for (const auto& [place, programs] : places) {
    table.add({name_text(place.name), name_text(place.service), std::to_string(programs.all), switch_text(programs),
               place.file + ":" + std::to_string(place.line)});
  }
  return table.render(columns);
}

std::string rules_table(const boost::json::array& rules, size_t columns) {
  if (rules.empty()) return "";
  Table table({{"ACTION"}, {"PATTERN", Align::kLeft, true}, {"SERVICE", Align::kLeft, true}, {"NODE"}});
  auto or_any = [](std::string_view text) { return text.empty() ? "any" : std::string(text); };
  for (const boost::json::value& rule : rules) {
    table.add({std::string(text_of(rule, "action")), std::string(text_of(rule, "pattern")),
               or_any(text_of(rule, "service")), or_any(text_of(rule, "node_id"))});
  }
  return table.render(columns);
}

bool is_truncated(const boost::json::array& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const boost::json::value& node) {
    const boost::json::array& programs = array_of(node, "programs");
    return flag_of(node, "truncated") ||
           std::any_of(programs.begin(), programs.end(),
                       [](const boost::json::value& of) { return flag_of(of, "truncated"); });
  });
}

}  // namespace fathom::cli
