// SessionCaptures: the captures under way in one stream, and the rules for them.
//
// Purpose: the part of AgentSession that docs/formats/ingest-stream.md describes under Captures: the order of parts,
// the limits, the answers. Thread safety: all of it; begin(), part() and skipped() from one thread at a time. `peer`
// is called on any thread: send() with this object's lock held, so that answers keep their order, the others
// without. Ownership: held by shared_ptr; uploads hold it weakly. Without an intake, captures are refused and
// reports ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/token_bucket.h"
#include "collector/agents/capture_intake.h"
#include "collector/agents/stream_end.h"
#include "ingest/agent_messages.h"

namespace fathom::collector {

class SessionCaptures : public std::enable_shared_from_this<SessionCaptures> {
 public:
  struct Peer {
    std::function<bool(std::string)> send;  // false: it reads too little
    std::function<void()> reads_too_little;
    std::function<void()> answered;  // for good, one of them
  };

  SessionCaptures(std::shared_ptr<CaptureIntake> intake, uint64_t max_under_way_bytes, Peer peer);

  static void list_metrics();  // at 0, before anything happens

  struct Begun {
    std::optional<Breach> breach;
    bool is_under_way = false;  // false also if it was refused, or must be sent again later
  };
  // `content_is_stored`: the agent will send no parts. `rejection`: why it is rejected for good; empty: it is
  // not.
  Begun begin(store::CaptureInfo info, bool content_is_stored = false, const std::string& rejection = {});
  // The rule that the part breaks; nothing: none.
  std::optional<Breach> part(const ingest::CapturePart& part);
  // Reports of skipped captures. Reports beyond the stream's rate are dropped and counted.
  void skipped(std::vector<store::SkippedCapture> reports);
  // There was no memory for a part of this one.
  void no_room(const store::CaptureId& id);
  // The collector stops: agents must send incomplete captures again, to the next collector.
  void drain();
  // No more parts arrive, or answers cannot be sent any more. Captures begun after that are abandoned at once, because
  // the stream may end on another thread than the reading one.
  void end_incomplete();
  bool idle() const;  // all have their answers

 private:
  struct Entry {
    std::shared_ptr<CaptureIntake::Upload> upload;
    uint64_t serial = 0;  // an id may be begun again
    uint64_t size_bytes = 0;
    uint64_t received_bytes = 0;
    uint64_t taken_bytes = 0;
    bool whole() const { return received_bytes == size_bytes; }
  };
  using Entries = std::map<store::CaptureId, Entry>;

  std::optional<Breach> refusal(const store::CaptureInfo& info) const;
  std::string why_not(const store::CaptureInfo& info) const;
  void open(store::CaptureInfo info, bool content_is_stored);
  void told(uint64_t serial, const ingest::CaptureProgress& progress);
  void answer(const ingest::CaptureProgress& progress);
  void retry(const store::CaptureId& id, const std::string& why);
  void release(Entries::iterator entry);
  void say(const ingest::CaptureProgress& progress);
  void hear_of_it(bool answered);

  const std::shared_ptr<CaptureIntake> intake_;
  const uint64_t max_under_way_bytes_;
  const Peer peer_;
  TokenBucket skipped_rate_;
  mutable std::mutex mutex_;
  Entries entries_;
  uint64_t under_way_bytes_ = 0;  // received, and not taken
  uint64_t last_serial_ = 0;
  bool draining_ = false;
  bool ended_ = false;
  bool unread_ = false;  // an answer could not be sent
};

}  // namespace fathom::collector
