#include "cli/snapshot_note.h"

#include "cli/api.h"
#include "cli/text.h"

namespace fathom::cli {

namespace {

// -1: of none in particular.
std::string thread_of(const boost::json::value& snapshot) {
  const uint64_t tid = number_of(snapshot, "tid");
  return tid == 0 ? "" : " of thread " + std::to_string(tid);
}

std::string line_of(const boost::json::value& snapshot) {
  const std::string id = printable(text_of(snapshot, "id"));
  const std::string host = printable(text_of(snapshot, "host"));
  std::string how = printable(text_of(snapshot, "reason"));
  const std::string engine = text_of(snapshot, "engine");
  if (engine == "step") how += how.empty() ? "stepped" : ", stepped";
  if (engine == "stand_in") how += how.empty() ? "a stand-in" : ", by a stand-in: nothing was recorded";
  return "snapshot " + id + thread_of(snapshot) + (host.empty() ? "" : " on " + host) +
         (how.empty() ? "" : " (" + how + ")") + ": fathom snapshot calls " + id + "\n";
}

}  // namespace

std::string snapshots_note(const boost::json::value& document) {
  std::string text;
  for (const boost::json::value& snapshot : array_of(document, "snapshots")) text += line_of(snapshot);
  return text.empty() ? "" : "\n" + text;
}

}  // namespace fathom::cli
