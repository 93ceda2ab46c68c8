// Whether snapshots by Intel PT work on this host; the recorder finds out by taking one.
#include "base/time.h"
#include "cli/api.h"
#include "cli/child.h"
#include "cli/doctor_checks.h"
#include "cli/exact_json.h"
#include "cli/places.h"

namespace fathom::cli {

namespace {

constexpr uint64_t kRecorderTimeoutNano = 60 * kNanosPerSecond;
constexpr const char* kPtCheck = "Intel PT";

}  // namespace

Finding check_intel_pt(const Context& context) {
  Result<std::string> recorder = sibling_program(context, "fathom-recorder");
  if (!recorder)
    return {kPtCheck, Health::kFail, recorder.error().message, "install fathom-recorder beside this program"};
  Result<std::string> said = run_and_capture({*recorder, "--doctor-pt"}, kRecorderTimeoutNano);
  Result<boost::json::value> report = said ? parse_exactly(*said) : said.error();
  if (!report || text_of(*report, "says").empty()) {
    return {kPtCheck, Health::kFail, "fathom-recorder does not say whether Intel PT works",
            "it is of another version than this program: update the older one"};
  }
  const Health health = flag_of(*report, "works") ? Health::kOk : Health::kFail;
  return {kPtCheck, health, text_of(*report, "says"), text_of(*report, "cure")};
}

}  // namespace fathom::cli
