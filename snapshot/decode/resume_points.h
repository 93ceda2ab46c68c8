// ResumePoints: where in a segment decoding can go on behind a fault, with certainty.
//
// Purpose: a processor may send bits of branches (TNT) before the addresses (TIP) that belong in front of them, so most
// packets with an address do not say which bits follow it. Three do, however a processor orders them: TIP.PGE, for
// recording begins there; OVF, which says itself how it goes on; and a TIP between which and the last packet that makes
// the processor send all it holds back (FUP, MODE, PIP, VMCS, TIP.PGE, TIP.PGD, PSB, OVF) no bits were sent. Where the
// segment shows that TIPs make its processor send them, too (tip_order.h), one that did is as good: the last
// one between a TNT that is not full and the next TNT, with nothing else there that could be the cause. Thread safety:
// none. Ownership: refers to the segment's bytes; those before the last point may be overwritten. Errors: none; there
// are no points behind bytes that are no packet. Work: each packet is read twice. Source of the idea: Intel's manual,
// chapter 33 (deferred TIPs, compound packets).
#pragma once

#include <intel-pt.h>

#include <cstdint>
#include <optional>
#include <span>

#include "snapshot/decode/packet_clock.h"
#include "snapshot/decode/packet_walk.h"

namespace fathom::snapshot {

enum class ResumeKind : uint8_t {
  kCode,      // the code stands at `ip`
  kBegin,     // recording begins at `ip`
  kOverflow,  // an overflow comes next
};

struct ResumePoint {
  ResumeKind kind = ResumeKind::kCode;
  bool absolute = false;  // `ip` does not lean on packets before
  bool guest = false;     // of a hypervisor, as the segment's packets say
  uint64_t packet = 0;    // that says it
  uint64_t offset = 0;    // the packets that follow
  uint64_t ip = 0;
  std::optional<pt_exec_mode> mode;
  PacketClock clock;
};

class ResumePoints {
 public:
  // `segment` begins with a PSB.
  ResumePoints(const pt_config& config, std::span<uint8_t> segment);

  // The first point behind the last one whose packet lies at or behind `offset`.
  std::optional<ResumePoint> next(uint64_t offset);

  // Goes on at the first PSB behind `offset`, whatever the packets before it are. False: there is none.
  bool skip_to_psb(uint64_t offset);

  // Room that a header takes at most.
  static constexpr size_t kMostHeaderBytes = 96;

 private:
  std::optional<ResumePoint> take(const pt_packet& packet);
  std::optional<ResumePoint> take_tip(const pt_packet& packet);
  std::optional<ResumePoint> take_tnt(const pt_packet& packet);
  std::optional<ResumePoint> take_other(const pt_packet& packet);
  bool take_ip(const pt_packet_ip& packet);
  ResumePoint point(ResumeKind kind, const pt_packet& packet) const;

  std::span<const uint8_t> segment_;
  PacketWalk walk_;
  bool tips_send_bits_;
  bool sent_ = false;                  // no bits since the processor had sent all it had
  bool partial_ = false;               // the last TNT was not full, and only TIPs have come since
  std::optional<ResumePoint> likely_;  // the last of them: certain if a TNT comes next
  bool absolute_ = false;
  bool guest_ = false;
  uint64_t last_ip_ = 0;
  std::optional<pt_exec_mode> mode_;
  PacketClock clock_;
};

// Writes a PSB+ that says what `point` knows, to end at `end` (with a TIP.PGE behind it where recording begins). There
// are ResumePoints::kMostHeaderBytes in front of it. Returns where it begins.
uint8_t* write_resume_header(const ResumePoint& point, uint8_t* end);

}  // namespace fathom::snapshot
