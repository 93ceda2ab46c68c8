#include "cli/snapshot_note.h"

#include "base/time.h"
#include "cli/api.h"
#include "cli/text.h"

namespace fathom::cli {

namespace {

// -1: of none in particular.
std::string thread_of(const boost::json::value& snapshot) {
  const uint64_t tid = number_of(snapshot, "tid");
  return tid == 0 ? "" : " of thread " + std::to_string(tid);
}

// "overdue, stepped, 812 times slower"
std::string how_of(const boost::json::value& snapshot) {
  std::string how = printable(text_of(snapshot, "reason"));
  const std::string engine = text_of(snapshot, "engine");
  if (engine == "stand_in") return how + (how.empty() ? "a stand-in" : ", by a stand-in: nothing was recorded");
  if (engine != "step") return how;
  how += how.empty() ? "stepped" : ", stepped";
  const std::string slower = slowdown_text(real_of(snapshot, "slowdown"));
  return slower.empty() ? how : how + ", " + slower;
}

std::string holder_of(const boost::json::value& snapshot) {
  const uint64_t holder = number_of(snapshot, "lock_holder");
  const uint64_t blocking = number_of(snapshot, "blocking_thread");
  if (blocking != 0 && blocking != holder)
    return " --tid " + std::to_string(blocking) + "   # whom thread " + std::to_string(holder) +
           ", which held the lock, waited for";
  return holder == 0 ? "" : " --tid " + std::to_string(holder) + "   # who held the lock";
}

std::string note_line(const boost::json::value& snapshot) {
  const std::string id = printable(text_of(snapshot, "id"));
  const std::string host = printable(text_of(snapshot, "host"));
  const std::string how = how_of(snapshot);
  return "snapshot " + id + thread_of(snapshot) + (host.empty() ? "" : " on " + host) +
         (how.empty() ? "" : " (" + how + ")") + ": fathom snapshot calls " + id + holder_of(snapshot) + "\n";
}

}  // namespace

std::string snapshots_note(const boost::json::value& document) {
  std::string text;
  for (const boost::json::value& snapshot : array_of(document, "snapshots")) text += note_line(snapshot);
  return text.empty() ? "" : "\n" + text;
}

std::string stepped_note(const boost::json::value& document) {
  std::string text;
  for (const boost::json::value& held : array_of(document, "stepped")) {
    text += "stepped: 'fathom record' held pid " + std::to_string(number_of(held, "pid")) + " of " +
            printable(text_of(held, "host")) + " for " + format_duration(number_of(held, "duration_nano")) +
            " meanwhile (snapshot " + printable(text_of(held, "snapshot_id")).substr(0, 8) +
            "): these times are the stepper's, not the program's\n";
  }
  return text.empty() ? "" : "\n" + text;
}

}  // namespace fathom::cli
