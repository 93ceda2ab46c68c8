#include "snapshot/record/step/packet_writer.h"

#include <cassert>
#include <utility>

namespace fathom::snapshot::step {
namespace {

constexpr size_t kBufferBytes = 64 << 10;
constexpr size_t kMostPacketBytes = 16;
constexpr uint8_t kBranchesOfPacket = 6;  // of TNT-8: times stay fine-grained

pt_packet packet_of(pt_packet_type type) {
  pt_packet packet{};
  packet.type = type;
  return packet;
}

bool fits_sign_extended_48(uint64_t ip) {
  return static_cast<uint64_t>(static_cast<int64_t>(ip << 16) >> 16) == ip;
}

pt_packet_ip compressed(uint64_t ip, uint64_t last_ip) {
  if ((ip >> 16) == (last_ip >> 16)) return {pt_ipc_update_16, ip & 0xffff};
  if ((ip >> 32) == (last_ip >> 32)) return {pt_ipc_update_32, ip & 0xffffffff};
  if (fits_sign_extended_48(ip)) return {pt_ipc_sext_48, ip & 0xffffffffffff};
  return {pt_ipc_full, ip};
}

}  // namespace

PacketWriter::PacketWriter(uint8_t ratio, Sink sink) : buffer_(kBufferBytes), sink_(std::move(sink)), ratio_(ratio) {
  pt_config config;
  pt_config_init(&config);
  config.begin = buffer_.data();
  config.end = buffer_.data() + buffer_.size();
  encoder_.reset(pt_alloc_encoder(&config));
  assert(encoder_ != nullptr);
}

PacketWriter::~PacketWriter() = default;

void PacketWriter::put(const pt_packet& packet) {
  if (buffer_.size() - at_ < kMostPacketBytes) hand_over();
  const int size = pt_enc_next(encoder_.get(), &packet);
  assert(size > 0);
  at_ += static_cast<uint64_t>(size);
}

void PacketWriter::hand_over() {
  sink_({buffer_.data(), at_});
  handed_over_ += at_;
  at_ = 0;
  pt_enc_sync_set(encoder_.get(), 0);
}

void PacketWriter::put_ip(pt_packet_type type, uint64_t ip) {
  pt_packet packet = packet_of(type);
  packet.payload.ip = compressed(ip, last_ip_);
  last_ip_ = ip;
  put(packet);
}

// Nothing where no time has passed: clocks advance in steps.
void PacketWriter::put_time(uint64_t tsc) {
  if (tsc <= last_tsc_) return;
  pt_packet packet = packet_of(ppt_cyc);
  packet.payload.cyc.value = tsc - last_tsc_;
  last_tsc_ = tsc;
  put(packet);
}

void PacketWriter::put_branches() {
  if (branch_count_ == 0) return;
  put_time(branches_tsc_);
  pt_packet packet = packet_of(ppt_tnt_8);
  packet.payload.tnt = {branch_count_, branches_};
  put(packet);
  branch_count_ = 0;
  branches_ = 0;
}

void PacketWriter::synchronise(uint64_t tsc, const uint64_t* ip) {
  put_branches();
  synchronised_at_ = bytes();
  put(packet_of(ppt_psb));
  pt_packet time = packet_of(ppt_tsc);
  time.payload.tsc.tsc = tsc;
  put(time);
  last_tsc_ = tsc;
  pt_packet ratio = packet_of(ppt_cbr);
  ratio.payload.cbr.ratio = ratio_;
  put(ratio);
  pt_packet mode = packet_of(ppt_mode);
  mode.payload.mode.leaf = pt_mol_exec;
  mode.payload.mode.bits.exec = pt_set_exec_mode(ptem_64bit);
  put(mode);
  last_ip_ = 0;
  if (ip != nullptr) put_ip(ppt_fup, *ip);
  put(packet_of(ppt_psbend));
}

void PacketWriter::branch(bool taken, uint64_t tsc) {
  branches_ = branches_ << 1 | (taken ? 1 : 0);
  branches_tsc_ = tsc;
  if (++branch_count_ == kBranchesOfPacket) put_branches();
}

void PacketWriter::target(uint64_t ip, uint64_t tsc) {
  put_branches();
  put_time(tsc);
  put_ip(ppt_tip, ip);
}

void PacketWriter::enable(uint64_t ip, uint64_t tsc) {
  put_time(tsc);
  put_ip(ppt_tip_pge, ip);
}

void PacketWriter::disable(uint64_t tsc) {
  put_branches();
  put_time(tsc);
  put(packet_of(ppt_tip_pgd));  // pt_ipc_suppressed is zero
}

void PacketWriter::disable_at(uint64_t ip, uint64_t tsc) {
  put_branches();
  put_time(tsc);
  put_ip(ppt_fup, ip);
  put(packet_of(ppt_tip_pgd));
}

void PacketWriter::interrupt(uint64_t from, uint64_t to, uint64_t tsc) {
  put_branches();
  put_time(tsc);
  put_ip(ppt_fup, from);
  put_ip(ppt_tip, to);
}

void PacketWriter::flush() {
  put_branches();
  if (at_ != 0) hand_over();
}

}  // namespace fathom::snapshot::step
