#include "snapshot/decode/testing/stream_builder.h"

#include <cassert>
#include <utility>

namespace fathom::snapshot {
namespace {

constexpr uint8_t kMtcFrequency = 3;
constexpr uint8_t kRatio = 30;  // nominal and current
constexpr uint32_t kTicksPerCrystalTick = 8;
constexpr size_t kMostReturns = 64;
constexpr uint8_t kMostTntBits = 6;

pt_ip_compression compression(uint64_t last, uint64_t ip) {
  if ((last ^ ip) >> 16 == 0) return pt_ipc_update_16;
  if ((last ^ ip) >> 32 == 0) return pt_ipc_update_32;
  const auto top = static_cast<int64_t>(ip) >> 47;
  return top == 0 || top == -1 ? pt_ipc_sext_48 : pt_ipc_full;
}

uint64_t payload_bits(pt_ip_compression compression) {
  switch (compression) {
    case pt_ipc_update_16:
      return 0xffff;
    case pt_ipc_update_32:
      return 0xffffffff;
    case pt_ipc_sext_48:
      return 0xffffffffffff;
    default:
      return UINT64_MAX;
  }
}

}  // namespace

StreamBuilder::StreamBuilder(StreamOptions options)
    : options_(options), staging_(1 << 16), tsc_(options.first_tsc), cyc_tsc_(options.first_tsc) {
  pt_config config;
  pt_config_init(&config);
  config.begin = staging_.data();
  config.end = staging_.data() + staging_.size();
  encoder_.reset(pt_alloc_encoder(&config));
  assert(encoder_);
  psb();
}

Timing StreamBuilder::timing() {
  Timing timing;
  timing.mtc_freq = kMtcFrequency;
  timing.nom_freq = kRatio;
  timing.cpuid_0x15_eax = 1;
  timing.cpuid_0x15_ebx = kTicksPerCrystalTick;
  return timing;
}

void StreamBuilder::put(const pt_packet& packet) {
  int size = pt_enc_next(encoder_.get(), &packet);
  if (size == -pte_eos) {
    flush();
    size = pt_enc_next(encoder_.get(), &packet);
  }
  assert(size > 0);
}

void StreamBuilder::flush() {
  uint64_t used = 0;
  pt_enc_get_offset(encoder_.get(), &used);
  stream_.append(reinterpret_cast<const char*>(staging_.data()), used);
  pt_enc_sync_set(encoder_.get(), 0);
}

void StreamBuilder::put_type(pt_packet_type type) {
  pt_packet packet = {};
  packet.type = type;
  put(packet);
}

void StreamBuilder::put_ip(pt_packet_type type, uint64_t ip) {
  pt_packet packet = {};
  packet.type = type;
  packet.payload.ip.ipc = compression(last_ip_, ip);
  packet.payload.ip.ip = ip & payload_bits(packet.payload.ip.ipc);
  last_ip_ = ip;
  put(packet);
}

// MTC packets come whether or not anything happens.
void StreamBuilder::pass(uint64_t ticks) {
  constexpr uint64_t kPeriod = kTicksPerCrystalTick << kMtcFrequency;
  const uint64_t end = tsc_ + ticks;
  while (options_.mtc && mtc_ < end / kPeriod) {
    tsc_ = ++mtc_ * kPeriod;
    put_cyc();
    pt_packet packet = {};
    packet.type = ppt_mtc;
    packet.payload.mtc.ctc = static_cast<uint8_t>(mtc_);
    put(packet);
  }
  tsc_ = end;
}

void StreamBuilder::put_cyc() {
  if (!options_.cyc || tsc_ == cyc_tsc_) return;
  pt_packet packet = {};
  packet.type = ppt_cyc;
  packet.payload.cyc.value = tsc_ - cyc_tsc_;
  cyc_tsc_ = tsc_;
  put(packet);
}

void StreamBuilder::tnt(bool taken) {
  tnt_ = (tnt_ << 1) | (taken ? 1 : 0);
  if (++tnt_bits_ == kMostTntBits) flush_tnt();
}

// Bits come before whatever else is written.
void StreamBuilder::flush_tnt() {
  if (tnt_bits_ == 0) return;
  put_cyc();
  pt_packet packet = {};
  packet.type = ppt_tnt_8;
  packet.payload.tnt = {tnt_bits_, tnt_};
  put(packet);
  tnt_ = tnt_bits_ = 0;
  for (uint64_t to : std::exchange(deferred_, {})) put_ip(ppt_tip, to);
}

void StreamBuilder::put_tip(uint64_t to) {
  if (options_.defer_tips && tnt_bits_ > 0) return deferred_.push_back(to);
  flush_tnt();
  put_cyc();
  put_ip(ppt_tip, to);
}

void StreamBuilder::mode(pt_exec_mode mode) {
  flush_tnt();
  mode_ = mode;
  if (enabled_) put_mode();
}

void StreamBuilder::put_mode() {
  pt_packet packet = {};
  packet.type = ppt_mode;
  packet.payload.mode.leaf = pt_mol_exec;
  packet.payload.mode.bits.exec = pt_set_exec_mode(mode_);
  put(packet);
}

void StreamBuilder::psb() {
  flush_tnt();
  flush();
  psb_offsets_.push_back(stream_.size());
  write_header();
}

void StreamBuilder::write_header() {
  put_type(ppt_psb);
  last_ip_ = 0;
  returns_.clear();
  if (options_.tsc) header_time();
  if (enabled_) {
    put_mode();
    put_ip(ppt_fup, ip_);
  }
  put_type(ppt_psbend);
}

void StreamBuilder::header_time() {
  pt_packet packet = {};
  packet.type = ppt_tsc;
  packet.payload.tsc.tsc = tsc_;
  put(packet);
  if (options_.mtc) write_crystal_time();
  packet = {};
  packet.type = ppt_cbr;
  packet.payload.cbr.ratio = kRatio;
  put(packet);
  cyc_tsc_ = tsc_;
}

void StreamBuilder::write_crystal_time() {
  const uint64_t crystal = tsc_ / kTicksPerCrystalTick;
  pt_packet packet = {};
  packet.type = ppt_tma;
  packet.payload.tma.ctc = static_cast<uint16_t>(crystal);
  packet.payload.tma.fc = static_cast<uint16_t>(tsc_ % kTicksPerCrystalTick);
  put(packet);
  mtc_ = crystal >> kMtcFrequency;
}

void StreamBuilder::maybe_psb() {
  uint64_t staged = 0;
  pt_enc_get_offset(encoder_.get(), &staged);
  if (options_.psb_bytes > 0 && stream_.size() + staged - psb_offsets_.back() >= options_.psb_bytes) psb();
}

void StreamBuilder::ran(const Instruction& instruction, uint64_t next) {
  assert(enabled_ && instruction.ip == ip_);
  if (options_.remember) executed_.push_back({instruction.ip, tsc_});
  pass(kTicksPerInstruction);
  ip_ = next;
}

void StreamBuilder::enable(uint64_t ip) {
  assert(!enabled_);
  put_cyc();
  put_mode();
  put_ip(ppt_tip_pge, ip);
  enabled_ = true;
  ip_ = ip;
}

void StreamBuilder::disable() {
  flush_tnt();
  put_cyc();
  put_ip(ppt_fup, ip_);
  stop();
}

// TIP.PGD without an address.
void StreamBuilder::stop() {
  pt_packet packet = {};
  packet.type = ppt_tip_pgd;
  packet.payload.ip.ipc = pt_ipc_suppressed;
  put(packet);
  enabled_ = false;
}

void StreamBuilder::step(const Instruction& instruction) {
  const uint64_t behind = instruction.ip + instruction.size;
  const bool branch = instruction.op == Op::kJump || instruction.op == Op::kCall;
  if (instruction.op == Op::kCall) returns_.push_back(behind);
  ran(instruction, branch ? instruction.target : behind);
  maybe_psb();
}

void StreamBuilder::step_jcc(const Instruction& instruction, bool taken) {
  ran(instruction, taken ? instruction.target : instruction.ip + instruction.size);
  tnt(taken);
  maybe_psb();
}

// A return to where the call came from is a bit, if the call is younger than the last PSB.
bool StreamBuilder::pop_return(uint64_t to) {
  if (!options_.compress_returns || returns_.empty()) return false;
  const uint64_t expected = returns_.back();
  returns_.pop_back();
  return expected == to;
}

void StreamBuilder::step_indirect(const Instruction& instruction, uint64_t to) {
  ran(instruction, to);
  if (instruction.op == Op::kIndirectCall) returns_.push_back(instruction.ip + instruction.size);
  if (returns_.size() > kMostReturns) returns_.erase(returns_.begin());
  if (instruction.op == Op::kReturn && pop_return(to)) return tnt(true);
  // A decoder tells by the bits that are left whether a return is one of them.
  if (instruction.op == Op::kReturn) flush_tnt();
  put_tip(to);
  maybe_psb();
}

void StreamBuilder::step_system_call(const Instruction& instruction) {
  ran(instruction, instruction.ip + instruction.size);
  flush_tnt();
  put_cyc();
  stop();
  maybe_psb();
}

void StreamBuilder::step_ptwrite(const Instruction& instruction, uint64_t value) {
  flush_tnt();
  ran(instruction, instruction.ip + instruction.size);
  put_cyc();
  pt_packet packet = {};
  packet.type = ppt_ptw;
  packet.payload.ptw.plc = 1;
  packet.payload.ptw.payload = value;
  packet.payload.ptw.ip = options_.ptwrite_ip ? 1 : 0;
  put(packet);
  if (options_.ptwrite_ip) put_ip(ppt_fup, instruction.ip);
  maybe_psb();
}

void StreamBuilder::interrupt(uint64_t to) {
  flush_tnt();
  put_cyc();
  put_ip(ppt_fup, ip_);
  put_ip(ppt_tip, to);
  ip_ = to;
  maybe_psb();
}

void StreamBuilder::overflow(uint64_t to) {
  flush_tnt();
  put_type(ppt_ovf);
  last_ip_ = 0;
  returns_.clear();
  put_ip(ppt_fup, to);
  ip_ = to;
}

void StreamBuilder::paging(uint64_t cr3, bool guest) {
  pt_packet packet = {};
  packet.type = ppt_pip;
  packet.payload.pip.cr3 = cr3;
  packet.payload.pip.nr = guest ? 1 : 0;
  put(packet);
}

void StreamBuilder::pad(int count) {
  for (int number = 0; number < count; ++number) put_type(ppt_pad);
}

void StreamBuilder::raw(std::string_view bytes) {
  flush_tnt();
  flush();
  stream_ += bytes;
}

const std::string& StreamBuilder::stream() {
  flush_tnt();
  flush();
  return stream_;
}

std::vector<uint64_t> executed_ips(const std::vector<StreamBuilder::Executed>& executed) {
  std::vector<uint64_t> ips;
  ips.reserve(executed.size());
  for (const auto& one : executed) ips.push_back(one.ip);
  return ips;
}

std::span<const uint8_t> packet_span(const std::string& stream) {
  return {reinterpret_cast<const uint8_t*>(stream.data()), stream.size()};
}

}  // namespace fathom::snapshot
