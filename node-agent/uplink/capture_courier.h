// CaptureCourier: which bytes of which capture go out when; the uplink's CaptureOutbox without its clockwork.
//
// Purpose: as Courier for batches, by the time that is handed in:
//  - captures go one after the other, in parts, within the window that Welcome and progress allow; the next one begins
//    when all parts of the one before are sent, and does not wait for its answer;
//  - those that can wait (OutgoingCapture) go behind all that cannot; of both kinds, the first to come is the first;
//  - what a dead stream had under way, or what was answered RETRY, is begun again, before the others of its kind;
//  - a content that several share (one object) is sent once; the others wait for it, and then refer to it;
//  - they wait in memory, `memory_bytes` of contents and kMostCaptures at most; what does not fit is refused at once.
// Spans go first: a link writes nothing of captures while it has anything else to write (outgoing.h), so that a batch
// waits for one part at most. Thread safety: none; everything on the loop's thread. Ownership: contents are shared with
// the link until it has written them. Errors: none; losses are counted in fathom_agent_lost_captures_total{reason}.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "node-agent/control.h"
#include "node-agent/uplink/clock_offset.h"
#include "node-agent/uplink/link.h"

namespace fathom::agent {

class CaptureCourier {
 public:
  struct Surroundings {
    std::function<uint64_t()> now_nano;                                     // monotonic
    std::function<std::optional<ClockOffset>(const LocalInstant&)> offset;  // of then; absent: not known
    std::function<void(std::function<void()>)> post;                        // runs it soon, not at once
  };
  static constexpr uint64_t kPartBytes = 256 << 10;
  static constexpr size_t kMostCaptures = 4096;

  CaptureCourier(uint64_t memory_bytes, Surroundings surroundings);

  void send(OutgoingCapture capture, std::function<void(CaptureFate)> done);
  void welcomed(const ingest::Welcome& welcome);
  void link_ended();
  void heard(const ingest::CaptureProgress& progress);
  // Gives the link what may go now.
  void pump(Link& link);
  // For the end: what is not durable by now is lost, and its `done` is never called.
  void give_up();

  bool idle() const { return waiting_.empty() && under_way_.empty(); }
  uint64_t memory_bytes() const { return memory_bytes_; }
  // By the names of docs/node-agent.md, since the agent began; those that happened.
  std::vector<std::pair<std::string, uint64_t>> losses() const;

 private:
  enum class Loss : uint8_t { kRefused, kNoRoom, kNotTaken, kUnsent };
  static constexpr size_t kLosses = 4;
  struct Parcel {
    OutgoingCapture capture;
    std::function<void(CaptureFate)> done;
    uint64_t sent_bytes = 0;  // on this stream
    uint64_t taken_bytes = 0;
    uint64_t size() const { return capture.begin.size_bytes; }
    bool refers() const { return capture.begin.content_is_stored; }
    bool all_sent() const { return refers() || sent_bytes == size(); }
  };
  using ParcelPtr = std::shared_ptr<Parcel>;
  using ContentPtr = std::shared_ptr<const std::string>;
  struct Content {
    size_t captures = 0;     // that are here
    bool is_stored = false;  // as the collector said last
  };

  std::optional<Loss> why_not(const OutgoingCapture& capture) const;
  bool is_here(const CaptureId& id) const;
  bool may_begin() const;
  bool waits_for_content(const ParcelPtr& parcel) const;
  // False: there is none that need not wait.
  bool begin_next(Link& link);
  void send_parts(Parcel& parcel, Link& link);
  void retry(const ParcelPtr& parcel, uint64_t delay_nano);
  void take_back(const ParcelPtr& parcel);
  // The place behind all that cannot wait.
  std::deque<ParcelPtr>::iterator first_that_can_wait();
  void settle(Parcel& parcel, CaptureFate fate);
  bool is_held(const ContentPtr& content) const;
  void charge(const ContentPtr& content);
  void discharge(const ContentPtr& content);
  void lose(Parcel& parcel, Loss loss);
  void count(Loss loss);
  void tell(std::function<void(CaptureFate)> done, CaptureFate fate);
  void show() const;

  const uint64_t most_memory_bytes_;
  const Surroundings surroundings_;
  std::mt19937_64 random_;
  std::deque<ParcelPtr> waiting_;    // in the order in which they are begun
  std::deque<ParcelPtr> under_way_;  // in the order of their beginnings
  // Of those that are here, and of those that somebody else still has.
  std::map<std::weak_ptr<const std::string>, Content, std::owner_less<>> contents_;
  uint64_t memory_bytes_ = 0;     // of contents that are here
  uint64_t under_way_bytes_ = 0;  // sent, and not taken
  bool welcome_ = false;
  uint64_t most_bytes_ = 0;            // of one, as Welcome has it; 0: none
  uint64_t most_under_way_bytes_ = 0;  // likewise
  bool shares_contents_ = false;       // likewise
  uint64_t blocked_until_nano_ = 0;
  std::array<uint64_t, kLosses> losses_{};
};

}  // namespace fathom::agent
