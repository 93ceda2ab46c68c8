// Courier: decides whether a batch is sent, spooled, or waits, and when; the Uplink without its timers and threads.
//
// Purpose: all decisions of the uplink, by the time that is passed in, so that tests can simulate them without waiting
// and without a network:
//  - live and spooled batches are sent alternately, each in their order, within the window that Welcome allows;
//  - batches that a broken stream had under way are sent first over the next one, under the same identity;
//  - RETRY halts all sending for the requested time; then one batch is tried alone;
//  - batches are spooled if not sent for `spool_after_nano`, or sent and not answered for `stalled_after_nano`;
//  - captures have their own courier (capture_courier.h), which this one calls;
//  - a batch gets the clock's offset when it is first sent, or spooled, and keeps it.
// Thread safety: none; everything on the loop's thread, events too. Ownership: the link and the spool are the
// courier's. Errors: none; losses are counted in fathom_agent_lost_spans_total{reason}.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "node-agent/control.h"
#include "node-agent/outbox.h"
#include "node-agent/uplink/capture_courier.h"
#include "node-agent/uplink/clock_offset.h"
#include "node-agent/uplink/link.h"
#include "node-agent/uplink/spool_thread.h"
#include "node-agent/uplink/uplink.h"

namespace fathom::agent {

class Courier {
 public:
  struct Report {
    std::string message;
    std::function<void()> told;  // called when the collector has received it; perhaps never
  };
  struct Surroundings {
    std::function<uint64_t()> now_nano;               // monotonic
    std::function<LocalInstant()> instant;            // now, on the clocks of batches and probes
    std::function<void(std::function<void()>)> post;  // runs it soon, not at once
    LinkFactory open_link;                            // its events come back through `post`, or from the same thread
    std::function<Report()> report;                   // when one is due
    std::function<ControlHandler*()> control = {};    // handles requests; null: no handler
  };

  Courier(UplinkOptions options, Surroundings surroundings, std::unique_ptr<SpoolPort> spool);

  bool room(uint64_t bytes) const;
  uint64_t most_bytes() const { return most_bytes_; }
  void send(OutgoingBatch batch, std::function<void(Outcome)> done);
  void send(OutgoingCapture capture, std::function<void(CaptureFate)> done);
  // The current instant, for what is made now and sent later.
  LocalInstant mark() { return steps_.mark(surroundings_.instant()); }
  void announce(ingest::SlowTrace trace);
  bool report_skipped(const ingest::SkippedCaptures& skipped);
  // Does what is due. To be called at least ten times a second.
  void tick();
  void finish(uint64_t grace_nano, std::function<void()> done);
  void set_spool_limit(uint64_t bytes);

  UplinkStatus status();
  std::optional<ClockOffset> clock() { return estimator_.at(surroundings_.instant()); }

 private:
  struct Parcel {
    std::array<uint8_t, 16> identity{};
    std::shared_ptr<const std::string> otlp;
    uint32_t spans = 0;
    LocalInstant built;
    bool built_is_known = true;  // of this boot
    std::optional<ClockOffset> clock;
    std::function<void(Outcome)> done;  // of a live batch, until it is kept
    uint64_t since_nano = 0;            // when it came, or was sent
    uint64_t spool_id = 0;              // of its entry in the spool; 0: none
    bool loaded = false;                // came out of the spool
    bool spooling = false;              // an append is under way
    bool settled = false;               // answered during the append
  };
  using ParcelPtr = std::shared_ptr<Parcel>;

  // The stream.
  void open_link();
  void welcomed(ingest::Welcome welcome);
  void acknowledged(const ingest::Ack& ack);
  void probed(const ProbeAnswer& answer);
  void link_ended(const std::string& why);
  void watch_link(uint64_t now);
  void report_if_due(uint64_t now);
  void report(uint64_t now);
  void heard(uint64_t report);
  bool last_report_is_over(uint64_t now);
  void send_probe(uint64_t now);

  // What goes over it.
  void pump();
  void pump_batches();
  bool is_halted() const;
  bool may_send() const;
  ParcelPtr next_parcel();
  bool fits(const Parcel& parcel) const;
  void transmit(const ParcelPtr& parcel);
  void stamp(Parcel& parcel);
  void take_back(const ParcelPtr& parcel);
  void retry(const ParcelPtr& parcel, uint64_t delay_nano);
  void settle(const ParcelPtr& parcel, Outcome outcome);
  void complete(Parcel& parcel, Outcome outcome);
  void post(std::function<void()> work);
  void count_refused(const Parcel& parcel, const std::string& message);

  // Captures and requests.
  CaptureCourier::Surroundings capture_surroundings();
  void pump_captures();
  void progressed(const ingest::CaptureProgress& progress);
  void asked(LinkControl control);
  void use(const ingest::Asked<ingest::RedactionRules>& rules) const;

  // The spool.
  bool may_spool() const { return spool_ != nullptr && options_.spool_limit_bytes > 0; }
  void spool_what_is_due(uint64_t now);
  void spool(const ParcelPtr& parcel, bool taken);
  void spooled(const ParcelPtr& parcel, bool taken, Result<uint64_t> id);
  void fetch_spooled();
  void fetched(Result<std::optional<SpooledBatch>> taken);
  void tend_spool(uint64_t now);
  void finish_if_done(uint64_t now);
  bool captures_are_over(uint64_t now);

  UplinkOptions options_;  // constant but for the spool's limit
  const Surroundings surroundings_;
  const std::unique_ptr<SpoolPort> spool_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // answers of the spool and of links ask for it
  std::mt19937_64 random_;

  std::deque<ParcelPtr> waiting_;            // live ones
  std::deque<ParcelPtr> loaded_;             // out of the spool
  std::map<uint64_t, ParcelPtr> in_flight_;  // by sequence
  uint64_t memory_bytes_ = 0;                // of live ones that are not kept
  uint64_t loaded_bytes_ = 0;                // of those out of the spool, in flight or not
  uint64_t in_flight_bytes_ = 0;
  size_t spooling_ = 0;  // appends under way
  bool turn_of_spool_ = false;
  bool fetching_ = false;
  bool spool_may_have_more_ = true;
  uint64_t spool_blocked_until_nano_ = 0;  // it was full
  uint64_t fetch_blocked_until_nano_ = 0;  // it could not be read
  bool unread_was_said_ = false;
  uint64_t next_tend_nano_ = 0;

  std::unique_ptr<Link> link_;
  uint64_t link_number_ = 0;
  std::optional<ingest::Welcome> welcome_;
  uint64_t most_bytes_ = UINT64_MAX;  // of a batch, as the last Welcome had it
  uint64_t sequence_ = 0;
  uint64_t opened_nano_ = 0;
  uint64_t away_since_nano_ = 0;  // without a welcome
  uint64_t reconnect_nano_ = 0;
  uint32_t failures_ = 0;  // in a row
  uint64_t next_told_nano_ = 0;
  uint64_t paused_until_nano_ = 0;
  bool cautious_ = false;  // after a RETRY: one at a time

  OffsetEstimator estimator_;
  StepWatch steps_;
  bool clock_heard_ = false;  // on this stream
  uint64_t next_probe_nano_ = 0;
  uint64_t next_report_nano_ = 0;
  uint64_t last_report_ = 0;                                       // its number
  uint64_t heard_report_ = 0;                                      // the last that the collector has heard
  std::deque<std::pair<uint64_t, std::function<void()>>> untold_;  // of this stream's reports, by number

  CaptureCourier captures_;

  uint64_t acknowledged_spans_ = 0;
  uint64_t refused_spans_ = 0;
  std::function<void()> finished_;
  uint64_t finish_by_nano_ = 0;
  uint64_t captures_by_nano_ = 0;
  bool finish_spooled_ = false;
  uint64_t farewell_ = 0;  // the number of the very last report
  uint64_t farewell_nano_ = 0;
};

}  // namespace fathom::agent
