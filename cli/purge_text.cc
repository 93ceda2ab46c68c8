#include "cli/purge_text.h"

#include "base/text.h"
#include "cli/api.h"

namespace fathom::cli {

namespace {

std::string counted(const boost::json::value& purged, const char* key, const char* noun) {
  const uint64_t count = number_of(purged, key);
  return group_digits(count) + " " + noun + (count == 1 ? "" : "s");
}

bool is_nothing(const boost::json::value& purged) {
  return number_of(purged, "traces") + number_of(purged, "captures") + number_of(purged, "skipped_captures") == 0;
}

std::string unreadable_text(const boost::json::value& purged) {
  const boost::json::array& ids = array_of(purged, "unreadable_captures");
  if (ids.empty()) return "";
  std::string text = "not searched, because they cannot be decoded: captures";
  for (const boost::json::value& id : ids) {
    if (id.is_string()) text += " " + printable({id.get_string().data(), id.get_string().size()});
  }
  return text + "\n";
}

}  // namespace

std::string purge_text(const boost::json::value& purged, bool is_dry_run) {
  if (is_nothing(purged)) return "nothing matches: no span, and no event of a capture\n" + unreadable_text(purged);
  const char* begins = is_dry_run ? "would purge " : "purged ";
  const char* spans = is_dry_run ? "matching span" : "span";
  std::string text = begins + counted(purged, "traces", "trace") + " with " + counted(purged, "spans", spans) + ", " +
                     counted(purged, "captures", "capture") + ", " + counted(purged, "snapshots", "snapshot") + "\n";
  if (is_dry_run) return text + unreadable_text(purged);
  if (array_of(purged, "unreadable_captures").empty()) {
    text += "searched what is left, " + counted(purged, "spans_left", "span") +
            ": no row, index or capture matches, and none tells of a purged trace\n";
  }
  return text + unreadable_text(purged);
}

ExitCode purge_exit_code(const boost::json::value& purged) {
  if (!array_of(purged, "unreadable_captures").empty()) return ExitCode::kDataUnusable;
  return is_nothing(purged) ? ExitCode::kNothingFound : ExitCode::kOk;
}

}  // namespace fathom::cli
