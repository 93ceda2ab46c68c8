// What a simulation checks while its disk keeps what it had made durable.
#include "store/testing/simulation.h"

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
  if (!has_failed()) compare(presence);
  if (!has_failed()) check_captures();
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
