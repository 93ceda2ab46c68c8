#include "store/verify/repair_directories.h"

#include <algorithm>
#include <filesystem>

#include "store/verify/repair_mark.h"
#include "store/verify/repair_target.h"

namespace fathom::store {

namespace {

namespace fs = std::filesystem;

bool is_within(const fs::path& inner, const fs::path& outer) {
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

// The repair writes NEW_DIR.unfinished first.
Result<> check_apart(const RepairRequest& request) {
  const fs::path from = resolved_path(request.from);
  for (const std::string& to : {request.to, RepairTarget::unfinished(request.to)}) {
    const fs::path other = resolved_path(to);
    if (!is_within(from, other) && !is_within(other, from)) continue;
    return invalid(to + " and " + request.from +
                   " are the same directory, or one is inside the other; choose a new directory outside of " +
                   request.from);
  }
  return {};
}

RepairOutcome outcome_of(RepairMark::State state) {
  switch (state) {
    case RepairMark::State::kLoss:
      return RepairOutcome::kWasRepairedWithLoss;
    case RepairMark::State::kUnknown:
      return RepairOutcome::kWasRepairedByOlderProgram;
    default:
      return RepairOutcome::kWasRepaired;
  }
}

Result<RepairOutcome> outcome_of(const RepairRequest& request, const RepairMark& mark) {
  const std::string advice = "; choose another, empty NEW_DIR";
  const RepairSource source = repair_source(request.from);
  if (mark.state == RepairMark::State::kUnfinished) {
    return invalid("the repair of " + mark.source.path + " into " + request.to + " did not finish" + advice);
  }
  if (mark.source.path != source.path) {
    return invalid(request.to + " was repaired from " + mark.source.path + ", not from " + source.path + advice);
  }
  if (mark.source.files && mark.source.files != source.files) {
    return invalid(request.to + " was repaired from " + source.path +
                   ", but that has changed since, or was replaced with another directory" + advice);
  }
  return outcome_of(mark.state);
}

}  // namespace

std::string resolved_path(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path), error);
  const fs::path& found = error ? fs::absolute(path).lexically_normal() : whole;
  return found.has_filename() ? found : found.parent_path();
}

Result<> check_directories(const RepairRequest& request) {
  if (Result<> apart = check_apart(request); !apart) return apart;
  std::error_code error;
  if (!fs::exists(request.to, error) || fs::is_empty(request.to, error)) return {};
  return invalid(request.to + " is not empty; choose a directory that does not exist");
}

Result<std::optional<RepairOutcome>> earlier_repair(const RepairRequest& request) {
  if (Result<> apart = check_apart(request); !apart) return apart.error();
  std::error_code error;
  if (!fs::exists(request.to + "/" + RepairMark::kName, error)) return std::optional<RepairOutcome>();
  Result<RepairMark> mark = RepairMark::read(request.to);
  if (!mark) return invalid(mark.error().message + "; choose another, empty NEW_DIR");
  Result<RepairOutcome> outcome = outcome_of(request, *mark);
  if (!outcome) return outcome.error();
  return std::optional(*outcome);
}

}  // namespace fathom::store
