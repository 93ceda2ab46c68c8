// StreamBuilder: a processor for tests. It runs a Program, one instruction at a time, and writes the packets that a
// processor with Intel PT writes for it, by libipt's encoder; executed() is what a decoder must find.
//
// Whoever drives it decides about branches. Time: each instruction takes kTicksPerInstruction; core, bus and time-stamp
// counter go at one rate.
#pragma once

#include <intel-pt.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "snapshot/decode/testing/program.h"
#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

struct StreamOptions {
  uint64_t psb_bytes = 0;  // between synchronisation points; 0: only the first
  bool compress_returns = true;
  bool tsc = true;  // TSC packets with each PSB
  bool mtc = false;
  bool cyc = false;
  bool defer_tips = false;  // TIPs wait until the buffer of bits is full, or something else is written
  uint64_t first_tsc = 1000;
  bool remember = true;     // what was executed; long streams would fill the memory with it
  bool ptwrite_ip = false;  // a FUP behind each PTW, as with fup_on_ptw
};

class StreamBuilder {
 public:
  static constexpr uint64_t kTicksPerInstruction = 2;
  struct Executed {
    uint64_t ip;
    uint64_t tsc;
  };

  explicit StreamBuilder(StreamOptions options);

  // What a snapshot must say of the clock.
  static Timing timing();

  // Recording goes on at `ip`, and stops before the instruction that would be next.
  void enable(uint64_t ip);
  void disable();
  bool enabled() const { return enabled_; }
  uint64_t ip() const { return ip_; }
  uint64_t tsc() const { return tsc_; }
  void pass(uint64_t ticks);

  void step(const Instruction& instruction);  // plain, direct jumps and calls
  void step_jcc(const Instruction& instruction, bool taken);
  void step_indirect(const Instruction& instruction, uint64_t to);  // calls, jumps, returns, far returns that go on
  void step_system_call(const Instruction& instruction);            // recording stops, enable() resumes
  void step_ptwrite(const Instruction& instruction, uint64_t value);
  // The flow leaves ip() for another place: an interrupt that is recorded.
  void interrupt(uint64_t to);
  // Packets are lost from here on, until recording goes on at `to`.
  void overflow(uint64_t to);
  // While disabled. `guest`: of a hypervisor, from here until the next one.
  void paging(uint64_t cr3, bool guest = false);
  void mode(pt_exec_mode mode);  // of what comes behind the next TIP
  void psb();
  void pad(int count);
  void raw(std::string_view bytes);

  const std::vector<Executed>& executed() const { return executed_; }
  // Where synchronisation points lie in it.
  const std::vector<uint64_t>& psb_offsets() const { return psb_offsets_; }
  const std::string& stream();

 private:
  struct FreeEncoder {
    void operator()(pt_encoder* encoder) const { pt_free_encoder(encoder); }
  };
  void put(const pt_packet& packet);
  void put_type(pt_packet_type type);
  void put_ip(pt_packet_type type, uint64_t ip);
  void put_tip(uint64_t to);
  void put_cyc();
  void write_header();
  void header_time();
  void write_crystal_time();
  void put_mode();
  void stop();
  void tnt(bool taken);
  void flush_tnt();
  void flush();  // of the encoder's bytes
  void ran(const Instruction& instruction, uint64_t next);
  void maybe_psb();
  bool pop_return(uint64_t to);

  StreamOptions options_;
  std::vector<uint8_t> staging_;
  std::unique_ptr<pt_encoder, FreeEncoder> encoder_;
  std::string stream_;
  std::vector<Executed> executed_;
  std::vector<uint64_t> psb_offsets_;
  std::vector<uint64_t> returns_;
  std::vector<uint64_t> deferred_;  // targets of TIPs that wait for the bits before them
  pt_exec_mode mode_ = ptem_64bit;
  bool enabled_ = false;
  uint64_t ip_ = 0;
  uint64_t last_ip_ = 0;
  uint64_t tsc_;
  uint64_t cyc_tsc_;
  uint64_t mtc_ = 0;
  uint64_t tnt_ = 0;
  uint8_t tnt_bits_ = 0;
};

// Where each instruction lies, in the order of execution.
std::vector<uint64_t> executed_ips(const std::vector<StreamBuilder::Executed>& executed);
// A stream as decoders take it; a view.
std::span<const uint8_t> packet_span(const std::string& stream);

}  // namespace fathom::snapshot
