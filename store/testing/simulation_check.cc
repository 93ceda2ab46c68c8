// What a simulation checks while its disk keeps what it had made durable.
#include <algorithm>

#include "store/rocks/database.h"
#include "store/testing/simulation.h"
#include "store/wal/missing_logs.h"

namespace fathom::store::testing {

void Simulation::check() {
  if (disk_is_broken_ || rig_.disk().is_crashed()) return;
  ++result_.checks;
  allow_drops(keep_nano_);
  const SimulatedBatches::Presence presence = batches_.find(rig_.store());
  if (rig_.disk().is_crashed()) return;
  if (!presence.fault.empty()) fail(presence.fault);
  if (!presence.unreadable.empty()) {
    fail(std::to_string(presence.unreadable.size()) + " traces cannot be read: " + presence.error);
  }
  report_lost(presence);
  check_logs();
  if (!has_failed()) compare(presence);
  if (!has_failed()) check_captures();
}

// Torn writes may look like damage, but no crash may make a log look deleted.
void Simulation::check_logs() {
  const Result<std::vector<std::string>> kept = logs_set_aside(*rocksdb::Env::Default(), log_places(rig_.path()));
  if (kept && std::ranges::any_of(*kept, is_missing_mark)) fail("a log is reported as missing, and none was deleted");
}

void Simulation::compare(const SimulatedBatches::Presence& presence) {
  const SimulatedBatches::Comparison compared = batches_.compare(rig_.store(), presence, acknowledgements_);
  if (rig_.disk().is_crashed()) return;
  if (!compared.difference.empty()) return fail(compared.difference);
  if (compared.unreadable > 0) fail("an answer is an error: " + compared.error);
}

void Simulation::check_captures() {
  const SimulatedCaptures::Presence presence = captures_.find(rig_.store().captures());
  if (rig_.disk().is_crashed()) return;
  if (!presence.fault.empty()) fail(presence.fault);
  if (presence.unreadable > 0) fail(std::to_string(presence.unreadable) + " captures cannot be read");
  report_lost(presence);
}

void Simulation::report_lost(const SimulatedBatches::Presence& presence) {
  result_.silent_losses += presence.missing.size();
  result_.doubled += presence.repeated;
  if (presence.repeated > 0) fail(std::to_string(presence.repeated) + " batches are stored more than once");
  for (const SentBatch* sent : presence.missing) fail("an acknowledged batch is lost: " + std::to_string(sent->marker));
}

void Simulation::report_lost(const SimulatedCaptures::Presence& presence) {
  result_.silent_losses += presence.missing.size();
  for (const SentCapture* sent : presence.missing) {
    fail("an acknowledged capture is lost: " + std::to_string(sent->number));
  }
}

}  // namespace fathom::store::testing
