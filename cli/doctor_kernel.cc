// What an agent of this user may see of the kernel; the agent's program knows.
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

constexpr uint64_t kPatienceNano = 10 * kNanosPerSecond;
constexpr const char* kCheck = "kernel events";

void append(std::string& list, const std::string& name) {
  list += (list.empty() ? "" : ", ") + name;
}

}  // namespace

std::vector<Finding> judge_kernel_sources(const boost::json::array& sources) {
  std::string available;
  std::vector<Finding> findings;
  for (const boost::json::value& source : sources) {
    const std::string name = text_of(source, "name");
    if (flag_of(source, "available")) {
      append(available, name);
      continue;
    }
    // Mostly one thing is in the way of them all.
    const std::string why_not = text_of(source, "why_not");
    auto same = [&](const Finding& finding) { return finding.says.ends_with(": " + why_not); };
    auto found = std::ranges::find_if(findings, same);
    if (found == findings.end())
      findings.push_back({kCheck, Health::kWarn, "no " + name + ": " + why_not, text_of(source, "cure")});
    else
      found->says.insert(found->says.size() - why_not.size() - 2, ", " + name);
  }
  if (!available.empty()) findings.insert(findings.begin(), {kCheck, Health::kOk, available, ""});
  return findings;
}

std::vector<Finding> check_kernel_sources(const Context& context) {
  Result<std::string> agent = sibling_program(context, "fathom-agent");
  if (!agent) return {};  // check_programs() says so
  Result<std::string> said = run_and_capture({*agent, "--print-sources"}, kPatienceNano);
  Result<boost::json::value> sources = said ? parse_exactly(*said) : said.error();
  if (sources && sources->is_array()) return judge_kernel_sources(sources->get_array());
  return {{kCheck, Health::kWarn, "fathom-agent does not say what it may see of the kernel",
           "it is of another version than this program: update the older one"}};
}

}  // namespace fathom::cli
