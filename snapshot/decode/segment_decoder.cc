#include "snapshot/decode/segment_decoder.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>

#include "snapshot/decode/branch_class.h"
#include "snapshot/decode/psb.h"

namespace fathom::snapshot {
namespace {

// Code that loops without a branch that needs a packet does not end by itself. It is looked for once so many blocks
// needed none.
constexpr uint64_t kBlocksPerLook = 1024;
// Straight code of this length for every byte of packets has not been seen; damage makes it.
constexpr uint64_t kMostInstructionsPerByte = 1 << 16;
constexpr uint64_t kMostInstructions = 1 << 22;

// FUP with all 64 bits of the address, then TIP.PGD without one: recording stops at that address.
void write_stop(uint8_t* at, uint64_t ip) {
  *at++ = 0xdd;
  std::memcpy(at, &ip, sizeof ip);
  at[sizeof ip] = 0x01;
}

BlockEnd end_of(pt_insn_class kind) {
  switch (kind) {
    case ptic_call:
      return BlockEnd::kCall;
    case ptic_return:
      return BlockEnd::kReturn;
    case ptic_jump:
      return BlockEnd::kJump;
    case ptic_cond_jump:
      return BlockEnd::kConditionalJump;
    case ptic_far_call:
      return BlockEnd::kFarCall;
    case ptic_far_return:
      return BlockEnd::kFarReturn;
    case ptic_far_jump:
      return BlockEnd::kFarJump;
    default:
      return BlockEnd::kOther;
  }
}

CodeMode mode_of(pt_exec_mode mode) {
  if (mode == ptem_64bit) return CodeMode::k64;
  return mode == ptem_16bit ? CodeMode::k16 : CodeMode::k32;
}

GapReason reason_of(int status) {
  switch (pt_errcode(status)) {
    case pte_nomap:
      return GapReason::kMissingImage;
    case pte_bad_opc:
    case pte_bad_packet:
    case pte_eos:
      return GapReason::kBadPacket;
    default:
      return GapReason::kDecodeError;
  }
}

}  // namespace

BlockEnd EndClasses::of(const pt_block& block) {
  Known& known = known_[(block.end_ip ^ (block.end_ip >> 10)) % known_.size()];
  if (known.ip != block.end_ip || known.section != block.isid) known = {block.end_ip, block.isid, look_at(block)};
  return known.end;
}

BlockEnd EndClasses::look_at(const pt_block& block) const {
  uint8_t bytes[pt_max_insn_size] = {};
  const size_t size = sections_.read(block.isid, block.end_ip, bytes, sizeof bytes);
  return far_or_indirect({bytes, size}, block.mode == ptem_64bit);
}

uint64_t SegmentDecoder::most_instructions(size_t bytes) {
  return kMostInstructions + bytes * kMostInstructionsPerByte;
}

std::optional<SegmentFault> SegmentDecoder::decode(std::span<uint8_t> segment, std::optional<uint64_t> stop,
                                                   bool last) {
  uint8_t* end = segment.data() + segment.size();
  uint8_t kept[kRoom];
  std::memcpy(kept, end, kRoom);
  constexpr size_t kStopBytes = 10;
  if (stop) write_stop(end, *stop);
  config_.begin = segment.data();
  config_.end = end + (stop ? kStopBytes : 0);
  stop_ = stop;
  bytes_ = segment.size();
  last_ = last;
  decoder_ = pt_blk_alloc_decoder(&config_);
  assert(decoder_ != nullptr);
  pt_blk_set_image(decoder_, where_.image());
  run();
  if (fault_) fault_->offset = offset();
  pt_blk_free_decoder(decoder_);
  std::memcpy(end, kept, kRoom);
  return fault_;
}

void SegmentDecoder::run() {
  instructions_left_ = most_instructions(bytes_);
  int status = pt_blk_sync_set(decoder_, 0);
  if (status < 0) return nothing_behind_header(status) ? void() : fail(status, 0);
  while (!done_ && status >= 0) {
    status = (status & pts_event_pending) != 0 ? take_event() : take_block(status);
  }
  if (!done_ && status != -pte_eos) fail(status, last_ip_);
}

// A stream that is cut in a PSB+, or a PSB+ behind which the next one follows at once.
bool SegmentDecoder::nothing_behind_header(int status) const {
  return status == -pte_eos && (last_ || read_psb_header({config_.begin, bytes_}).complete);
}

uint64_t SegmentDecoder::offset() const {
  uint64_t at = 0;
  pt_blk_get_offset(decoder_, &at);
  return at;
}

void SegmentDecoder::tell_time() {
  uint64_t tsc = 0;
  if (pt_blk_time(decoder_, &tsc, nullptr, nullptr) != 0 || !where_.advance(tsc)) return;
  open_ = nullptr;
  pt_blk_set_image(decoder_, where_.image());
}

int SegmentDecoder::take_block(int status) {
  if ((status & pts_ip_suppressed) != 0 && ((status & pts_eos) != 0 || at_our_packets())) {
    done_ = true;
    return status;
  }
  const bool tail = (status & pts_eos) != 0;
  pt_block block;
  status = pt_blk_next(decoder_, &block, sizeof block);
  if (block.ninsn > 0) circles_ = goes_in_circles(block, put_block(block));
  if (status < 0) return retry(block, status);
  tell_time();
  if (tail) done_ = tail_.again(block.ip);
  if (circles_ || ++blocks_ % kBlocksPerLook == 0) look();
  return status;
}

BlockEnd SegmentDecoder::put_block(const pt_block& block) {
  last_ip_ = block.end_ip;
  out_.summary.instructions += block.ninsn;
  const BlockEnd end = block.iclass == ptic_error ? classes_.of(block) : end_of(block.iclass);
  if (open_ != nullptr && block.ip - open_->to <= pt_max_insn_size) {
    extend(block, end);
    return end;
  }
  FlowItem& item = out_.next();
  item.ip = block.ip;
  item.to = block.end_ip;
  item.tsc = where_.now();
  item.count = block.ninsn;
  item.kind = FlowKind::kBlock;
  item.end = end;
  item.reason = GapReason::kNone;
  item.mode = mode_of(block.mode);
  open_ = end == BlockEnd::kOther ? &item : nullptr;
  ++out_.summary.blocks;
  return end;
}

// A block that did not end with a branch ended because libipt's cache was still being filled, by us or by another
// thread: what comes next belongs to it, so that it does not depend on who filled the cache.
void SegmentDecoder::extend(const pt_block& block, BlockEnd end) {
  open_->to = block.end_ip;
  open_->count += block.ninsn;
  open_->end = end;
  if (end != BlockEnd::kOther) open_ = nullptr;
}

// Between two packets the code alone says where it goes, so an address that comes again comes forever. Indirect jumps
// and calls look like direct ones here, but for the packets that they take.
bool SegmentDecoder::goes_in_circles(const pt_block& block, BlockEnd end) {
  const bool direct = end == BlockEnd::kOther || end == BlockEnd::kJump || end == BlockEnd::kCall;
  free_blocks_ = direct ? free_blocks_ + 1 : 0;
  if (free_blocks_ < kBlocksPerLook) return false;
  const uint64_t at = offset();
  if (free_blocks_ == kBlocksPerLook || at != free_offset_) free_ = {};
  free_offset_ = at;
  return free_.again(block.ip);
}

void SegmentDecoder::look() {
  const bool endless = out_.summary.instructions - instructions_before_ > instructions_left_;
  if (!circles_ && !endless) return;
  fail(GapReason::kDecodeError, last_ip_, "the code loops and no packet says how it goes on");
  fault_->final = true;
  done_ = true;
}

// The instruction that could not be read begins the next block, so a block that was begun is over first.
int SegmentDecoder::retry(const pt_block& block, int status) {
  if (status != -pte_nomap && status != -pte_bad_insn) return status;
  if (block.ninsn > 0 && !again_) {
    again_ = true;
    return 0;
  }
  again_ = false;
  if (where_.find_code(block.ip)) {
    pt_blk_set_image(decoder_, where_.image());
    return 0;
  }
  fail(status, block.ip);
  done_ = true;
  return status;
}

void SegmentDecoder::fail(int status, uint64_t ip) {
  if (status == -pte_nomap || status == -pte_bad_insn) {
    if (auto why = where_.missing_code(ip)) return fail(GapReason::kMissingImage, ip, *why);
  }
  if (status == -pte_retstack_empty && behind_ != GapReason::kNone) {
    return fail(behind_, ip, "a return to a caller from before a gap");
  }
  const GapReason reason = reason_of(status);
  fail(reason, ip, pt_errstr(pt_errcode(status)));
  fault_->final = reason == GapReason::kBadPacket;
}

void SegmentDecoder::fail(GapReason reason, uint64_t ip, std::string_view cause) {
  fault_ = {reason, 0, false};
  const bool silent = out_.summary.instructions == instructions_before_ && !told_;
  if (behind_ != GapReason::kNone && silent) return;
  out_.gap(reason, shown(ip), where_.now(), cause);
}

int SegmentDecoder::take_event() {
  pt_event event;
  open_ = nullptr;
  told_ = true;
  free_blocks_ = 0;
  const int status = pt_blk_event(decoder_, &event, sizeof event);
  if (status < 0) return status;
  if (event.has_tsc != 0 && where_.advance(event.tsc)) pt_blk_set_image(decoder_, where_.image());
  put_event(event);
  return status;
}

void SegmentDecoder::put_event(const pt_event& event) {
  const bool has_ip = event.ip_suppressed == 0;
  switch (event.type) {
    case ptev_enabled:
      where_.resumes_at(event.variant.enabled.ip);
      return put(FlowKind::kResume, event.variant.enabled.ip, 0);
    case ptev_disabled:
      return put(FlowKind::kPause, last_ip_, 0);
    case ptev_async_disabled:
      done_ = at_our_packets() && event.variant.async_disabled.at == *stop_;
      if (!done_) put(FlowKind::kPause, event.variant.async_disabled.at, 0);
      return;
    case ptev_async_branch:
      return put(FlowKind::kInterrupt, event.variant.async_branch.from, has_ip ? event.variant.async_branch.to : 0);
    case ptev_overflow:
      out_.gap(GapReason::kOverflow, shown(last_ip_), where_.now(), "the processor wrote packets too fast");
      // Our address was taken for the one where packets go on: there is no code between.
      done_ = at_our_packets() && has_ip && event.variant.overflow.ip == *stop_;
      return;
    case ptev_paging:
      return enter_guest(event.variant.paging.non_root != 0);
    case ptev_async_paging:
      return enter_guest(event.variant.async_paging.non_root != 0);
    case ptev_ptwrite:
      return put_mark(has_ip ? event.variant.ptwrite.ip : 0, event.variant.ptwrite.payload);
    default:
      return;
  }
}

void SegmentDecoder::enter_guest(bool guest) {
  if (where_.guest(guest)) pt_blk_set_image(decoder_, where_.image());
}

void SegmentDecoder::put(FlowKind kind, uint64_t ip, uint64_t to) {
  FlowItem item;
  item.kind = kind;
  item.ip = shown(ip);
  item.to = shown(to);
  item.tsc = where_.now();
  out_.put(item);
}

void SegmentDecoder::put_mark(uint64_t ip, uint64_t value) {
  FlowItem item;
  item.kind = FlowKind::kMark;
  item.ip = shown(ip);
  item.to = value;
  item.tsc = where_.now();
  out_.put(item);
}

}  // namespace fathom::snapshot
