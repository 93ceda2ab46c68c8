#include "cli/repeat.h"

#include "base/time.h"
#include "cli/text.h"

namespace fathom::cli {

void Repeat::add(const Repeat& more) {
  if (result != more.result) result.clear();
  lasted.add(more.lasted);
  waited.add(more.waited);
  unknown_nano += more.unknown_nano;
}

std::string Repeat::text() const {
  if (head.empty()) return "(" + (wait ? wait_text(*wait, lasted) : "") + ")";
  std::string text = head + result + ", " + group_digits(lasted.count) + " times, " +
                     format_duration(lasted.total_nano) + " in all (longest " + format_duration(lasted.longest_nano) +
                     ")";
  if (wait) return text + "  " + wait_text(*wait, waited);
  if (unknown_nano > 0) text += "  unknown whether it slept for " + format_duration(unknown_nano);
  return text;
}

}  // namespace fathom::cli
