// FlowWriter: executed instructions, one at a time, to a stream of packets that a decoder makes the same instructions
// of.
//
// Purpose: knows what Intel PT says of which instruction, and what it leaves out because the decoder has the code. Only
// user code is recorded: a system call disables packets, the next instruction of the thread enables them again.
// Returns are compressed (a bit instead of an address) where the call lies behind the last PSB and the last enabling;
// a PSB comes each 4 KiB. Thread safety: none; one owner. Units: `tsc` in ticks, of when the instruction was seen to
// have run. Errors: none; a transfer that the instruction does not explain is written as an interrupt, and counted.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "snapshot/record/step/instruction.h"
#include "snapshot/record/step/packet_writer.h"

namespace fathom::snapshot::step {

// As a decoder keeps it: the oldest address is forgotten when 64 are there, and an uncompressed return takes none.
class ReturnStack {
 public:
  void push(uint64_t ip) {
    top_ = (top_ + 1) % kDepth;
    if (depth_ < kDepth) depth_++;
    addresses_[top_] = ip;
  }
  bool pop_if(uint64_t ip) {
    if (depth_ == 0 || addresses_[top_] != ip) return false;
    top_ = (top_ + kDepth - 1) % kDepth;
    depth_--;
    return true;
  }
  void clear() { depth_ = 0; }

 private:
  static constexpr uint32_t kDepth = 64;
  std::array<uint64_t, kDepth> addresses_{};
  uint32_t top_ = 0;
  uint32_t depth_ = 0;
};

class FlowWriter {
 public:
  FlowWriter(uint8_t ratio, PacketWriter::Sink sink) : packets_(ratio, std::move(sink)) {}

  // A stretch begins, and nothing is enabled yet: at the beginning, and where something is to be told at once.
  void begin(uint64_t tsc);
  // When the thread could go on, where that is not when its next instruction was seen to have run: behind a system
  // call.
  void resumes(uint64_t tsc) { resumes_tsc_ = tsc; }
  // The instruction at `ip` ran, and the thread went on at `next`.
  void executed(const Instruction& instruction, uint64_t ip, uint64_t next, uint64_t tsc) {
    if (!enabled_) enable(ip, tsc);
    if (instruction.kind == InstructionKind::kOther && next == instruction.behind(ip)) return;
    transfer(instruction, ip, next, tsc);
    if (packets_.bytes_since_synchronised() >= kSynchroniseBytes) synchronise(next, tsc);
  }
  // The thread was to go on at `from`, and goes on at `to`: a signal's handler.
  void interrupted(uint64_t from, uint64_t to, uint64_t tsc);
  // The thread was about to go on at `ip`, whether or not that instruction runs.
  void comes_to(uint64_t ip, uint64_t tsc) {
    if (!enabled_) enable(ip, tsc);
  }
  // Nothing is recorded from `ip` on, until the next instruction is.
  void pause(uint64_t ip, uint64_t tsc);
  // What a decoder must know has changed (a map): it begins anew here.
  void synchronise(uint64_t ip, uint64_t tsc);
  void flush() { packets_.flush(); }

  uint64_t bytes() const { return packets_.bytes(); }
  bool enabled() const { return enabled_; }
  // Transfers that no instruction explained, since this was asked last.
  uint64_t take_unexplained() { return std::exchange(unexplained_, 0); }

 private:
  static constexpr uint64_t kSynchroniseBytes = 4096;

  void enable(uint64_t ip, uint64_t tsc);
  void transfer(const Instruction& instruction, uint64_t ip, uint64_t next, uint64_t tsc);
  void call(const Instruction& instruction, uint64_t ip, uint64_t next, uint64_t tsc);
  void leave(uint64_t tsc);
  void explained(bool yes, uint64_t expected, uint64_t next, uint64_t tsc);

  PacketWriter packets_;
  ReturnStack returns_;
  bool enabled_ = false;
  uint64_t resumes_tsc_ = 0;  // 0: not known
  uint64_t unexplained_ = 0;
};

}  // namespace fathom::snapshot::step
