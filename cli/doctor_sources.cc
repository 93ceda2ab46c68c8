// What the sources of an agent of this user may record on this host; the agent's program knows.
#include <algorithm>
#include <string>

#include "base/time.h"
#include "cli/api.h"
#include "cli/child.h"
#include "cli/doctor_checks.h"
#include "cli/exact_json.h"
#include "cli/places.h"

namespace fathom::cli {

namespace {

constexpr uint64_t kAgentTimeoutNano = 10 * kNanosPerSecond;
constexpr const char* kSourcesCheck = "capture sources";

void append(std::string& list, const std::string& name) {
  list += (list.empty() ? "" : ", ") + name;
}

// What one thing is in the way of: mostly of all.
struct Lack {
  std::string names;
  std::string why;
  std::string cure;
};

void add(std::vector<Lack>& lacks, const boost::json::value& source) {
  const std::string why = text_of(source, "why_not");
  auto same = std::ranges::find(lacks, why, &Lack::why);
  if (same == lacks.end()) same = lacks.insert(same, {"", why, text_of(source, "cure")});
  append(same->names, text_of(source, "name"));
}

}  // namespace

std::vector<Finding> judge_sources(const boost::json::array& sources) {
  std::string available;
  std::vector<Lack> lacks;
  for (const boost::json::value& source : sources) {
    if (flag_of(source, "available"))
      append(available, text_of(source, "name"));
    else
      add(lacks, source);
  }
  std::vector<Finding> findings;
  if (!available.empty()) findings.push_back({kSourcesCheck, Health::kOk, available, ""});
  for (const Lack& lack : lacks)
    findings.push_back({kSourcesCheck, Health::kWarn, "no " + lack.names + ": " + lack.why, lack.cure, lack.names});
  return findings;
}

std::vector<Finding> check_sources(const Context& context) {
  Result<std::string> agent = sibling_program(context, "fathom-agent");
  if (!agent) return {};  // check_programs() says so
  Result<std::string> said = run_and_capture({*agent, "--print-sources"}, kAgentTimeoutNano);
  Result<boost::json::value> sources = said ? parse_exactly(*said) : said.error();
  if (sources && sources->is_array()) return judge_sources(sources->get_array());
  return {{kSourcesCheck, Health::kWarn, "fathom-agent does not say what it may record",
           "it is of another version than this program: update the older one"}};
}

}  // namespace fathom::cli
