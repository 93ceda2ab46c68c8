#include "store/testing/simulated_captures.h"

#include "base/sha256.h"
#include "store/testing/capture_builder.h"

namespace fathom::store::testing {

namespace {

std::string content_of(const SentCapture& sent) {
  return test_content(sent.number, 1000 + sent.number * 997 % 5000);
}

}  // namespace

SentCapture& SimulatedCaptures::make(const SimulatedTime& now) {
  sent_.push_back({.number = sent_.size() + 1, .made = now});
  return sent_.back();
}

AppendResult SimulatedCaptures::send(CaptureStore& store, const SentCapture& sent) const {
  return testing::send(store, test_capture(sent.number), content_of(sent), 2000);
}

SimulatedCaptures::Presence SimulatedCaptures::find(CaptureStore& store) {
  Presence presence;
  for (SentCapture& sent : sent_) {
    const CaptureId id = test_capture_id(sent.number);
    Result<StoredCapture> stored = store.info(id);
    if (!stored && stored.error().code == ErrorCode::kNotFound) {
      sent.dropped |= sent.may_be_dropped;
      if (sent.must_be_stored()) presence.missing.push_back(&sent);
      continue;
    }
    const std::string content = stored ? read_all(store, id) : "";
    if (!stored || stored->damaged || sha256(content) != stored->info.sha256) {
      ++presence.unreadable;
    } else if (content != content_of(sent)) {
      presence.fault = "a capture has another content: " + std::to_string(sent.number);
    } else if (sent.dropped) {
      presence.fault = "a dropped capture is stored again: " + std::to_string(sent.number);
    }
  }
  return presence;
}

}  // namespace fathom::store::testing
