// SegmentDecoder: libipt's block decoder from one synchronisation point to the next.
//
// Purpose: every segment is decoded from nothing, so that the result does not depend on how a stream is shared out, and
// damage of one segment does not reach the next. A segment's last instructions need no packet; where they end is what
// the next PSB+ says (its FUP), so the decoder is told to stop there by two packets of ours behind the segment's own:
// nothing is decoded twice, nothing is lost, and code that does not lead there is a gap. Thread safety: none. Errors:
// one gap, then this decoder is done; segment_resumption.h goes on behind it.
#pragma once

#include <intel-pt.h>

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "snapshot/decode/flow_writer.h"
#include "snapshot/decode/section_cache.h"
#include "snapshot/decode/whereabouts.h"

namespace fathom::snapshot {

// What stays of libipt's questions about far and indirect transfers; one per decoding thread.
class EndClasses {
 public:
  explicit EndClasses(const SectionCache& sections) : sections_(sections) {}
  BlockEnd of(const pt_block& block);

 private:
  struct Known {
    uint64_t ip = 0;
    int section = 0;
    BlockEnd end = BlockEnd::kOther;
  };
  BlockEnd look_at(const pt_block& block) const;

  const SectionCache& sections_;
  std::array<Known, 256> known_;
};

// Why a decode did not reach its segment's end.
struct SegmentFault {
  GapReason reason = GapReason::kNone;
  uint64_t offset = 0;  // packets before it were read
  bool final = false;   // no use in going on: the packets are to blame, or the code is endless
};

// Whether an address of a sequence comes again, at the latest after three times its distance (Brent's algorithm).
class RepeatedAddress {
 public:
  bool again(uint64_t ip) {
    if (count_ > 0 && ip == ip_) return true;
    if (std::has_single_bit(++count_)) ip_ = ip;
    return false;
  }

 private:
  uint64_t count_ = 0;
  uint64_t ip_ = 0;
};

class SegmentDecoder {
 public:
  // Room behind a segment's bytes for ours.
  static constexpr size_t kRoom = 16;

  // `behind`: the segment begins behind a gap of this reason. Returns without a stack are then its consequence, and a
  // fault before anything was decoded belongs to it.
  SegmentDecoder(const pt_config& config, EndClasses& classes, Whereabouts& where, FlowWriter& out,
                 GapReason behind = GapReason::kNone)
      : config_(config),
        classes_(classes),
        where_(where),
        out_(out),
        behind_(behind),
        instructions_before_(out.summary.instructions) {}

  // Once. `segment` begins with a PSB and is followed by kRoom bytes that may be written to (and are put back).
  // `stop`: where the code stands at its end. `last`: the stretch ends here.
  std::optional<SegmentFault> decode(std::span<uint8_t> segment, std::optional<uint64_t> stop, bool last);

  // More than a segment of this size is ever good for.
  static uint64_t most_instructions(size_t bytes);

 private:
  void run();
  bool nothing_behind_header(int status) const;
  // Both take and return libipt's status.
  int take_event();
  int take_block(int status);
  int retry(const pt_block& block, int status);
  void fail(int status, uint64_t ip);
  void fail(GapReason reason, uint64_t ip, std::string_view cause);
  BlockEnd put_block(const pt_block& block);
  void extend(const pt_block& block, BlockEnd end);
  void put_event(const pt_event& event);
  void enter_guest(bool guest);
  void put(FlowKind kind, uint64_t ip, uint64_t to);
  void put_mark(uint64_t ip, uint64_t value);
  void tell_time();
  bool goes_in_circles(const pt_block& block, BlockEnd end);
  void look();
  uint64_t offset() const;
  bool at_our_packets() const { return stop_ && offset() > bytes_; }
  // No address that is not code leaves the decoder.
  uint64_t shown(uint64_t ip) const { return where_.known(ip) ? ip : 0; }

  pt_config config_;
  EndClasses& classes_;
  Whereabouts& where_;
  FlowWriter& out_;
  const GapReason behind_;
  std::optional<SegmentFault> fault_;
  bool told_ = false;  // an event
  pt_block_decoder* decoder_ = nullptr;
  std::optional<uint64_t> stop_;
  uint64_t bytes_ = 0;
  bool last_ = false;
  bool done_ = false;
  bool again_ = false;
  FlowItem* open_ = nullptr;  // the last item, while the next block may belong to it
  uint64_t last_ip_ = 0;
  uint64_t blocks_ = 0;
  uint64_t free_blocks_ = 0;  // since a packet was needed
  uint64_t free_offset_ = 0;
  RepeatedAddress free_;
  RepeatedAddress tail_;
  bool circles_ = false;
  uint64_t instructions_before_ = 0;
  uint64_t instructions_left_ = 0;
};

}  // namespace fathom::snapshot
