// CaptureCourier: decides which parts of which capture are sent when; the uplink's CaptureOutbox without its timers.
//
// Purpose: does for captures what Courier does for batches, by the time that is passed in:
//  - captures are sent one after the other, in parts, within the window that Welcome and progress allow; the next one
//    begins when all parts of the previous one are sent, without waiting for its answer;
//  - captures that can wait (OutgoingCapture) are sent after all that cannot; each kind is sent in order of arrival;
//  - captures that a broken stream had under way, or that were answered RETRY, are sent again, first of their kind;
//  - a content that several captures share (one object) is sent once; the others wait for it, and then refer to it;
//  - captures wait in memory, at most `memory_bytes` of contents and kMostCaptures; others are rejected at once.
// Spans go first: a link writes no part of a capture while it has anything else to write (outgoing.h), so a batch waits
// for at most one part. Thread safety: none; everything on the loop's thread. Ownership: contents are shared with the
// link until it has written them. Errors: none; losses are counted in fathom_agent_lost_captures_total{reason}.
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
    std::function<std::optional<ClockOffset>(const LocalInstant&)> offset;  // at that instant; absent: not known
    std::function<void(std::function<void()>)> post;                        // runs it soon, not at once
  };
  static constexpr uint64_t kPartBytes = 256 << 10;
  static constexpr size_t kMostCaptures = 4096;

  CaptureCourier(uint64_t memory_bytes, Surroundings surroundings);

  void send(OutgoingCapture capture, std::function<void(CaptureFate)> done);
  void welcomed(const ingest::Welcome& welcome);
  void link_ended();
  void heard(const ingest::CaptureProgress& progress);
  // Sends over the link what may be sent now.
  void pump(Link& link);
  // For the agent's shutdown: captures that are not durable are lost, and their `done` is never called.
  void give_up();

  bool idle() const { return waiting_.empty() && under_way_.empty(); }
  uint64_t memory_bytes() const { return memory_bytes_; }
  // Losses since the agent began that are not zero, by the names of docs/node-agent.md.
  std::vector<std::pair<std::string, uint64_t>> losses() const;

 private:
  enum class Loss : uint8_t { kRefused, kNoRoom, kNotTaken, kUnsent };
  static constexpr size_t kLosses = static_cast<size_t>(Loss::kUnsent) + 1;
  // `loss`: none of give_up(), which tells nobody.
  static CaptureFate fate_of(Loss loss);
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
    size_t captures = 0;     // captures with this content that wait or are under way
    bool is_stored = false;  // by the collector's last answer
  };

  std::optional<Loss> why_not(const OutgoingCapture& capture) const;
  bool is_here(const CaptureId& id) const;
  bool may_begin() const;
  bool waits_for_content(const ParcelPtr& parcel) const;
  // False: no capture is waiting, or all that are wait for a shared content.
  bool begin_next(Link& link);
  void send_parts(Parcel& parcel, Link& link);
  void retry(const ParcelPtr& parcel, uint64_t delay_nano);
  void take_back(const ParcelPtr& parcel);
  // The place behind all captures that cannot wait.
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
  std::deque<ParcelPtr> under_way_;  // in the order in which they were begun
  // Contents of the captures here, and earlier ones that some other owner still has.
  std::map<std::weak_ptr<const std::string>, Content, std::owner_less<>> contents_;
  uint64_t memory_bytes_ = 0;     // of contents of the captures here
  uint64_t under_way_bytes_ = 0;  // sent, and not taken by the collector yet
  bool welcome_ = false;
  uint64_t most_bytes_ = 0;            // of one capture, by Welcome; 0: captures are not accepted
  uint64_t most_under_way_bytes_ = 0;  // likewise
  bool shares_contents_ = false;       // likewise
  uint64_t blocked_until_nano_ = 0;
  std::array<uint64_t, kLosses> losses_{};
};

}  // namespace fathom::agent
