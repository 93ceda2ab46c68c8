// Programs of our own making, run by a small interpreter: what the decoder makes of the stream is what was run.
#include "snapshot/record/step/flow_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "snapshot/record/testing/flow_check.h"

namespace fathom::snapshot::step {
namespace {

constexpr uint64_t kCode = 0x401000;
constexpr std::ptrdiff_t kMostAhead = 400;  // instructions without a decision
constexpr uint64_t kSlot = 8;               // one instruction each, and NOPs up to the next

// Random code: where a branch goes is for the interpreter's dice to say.
class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed, size_t slots) : random_(seed), code_(slots * kSlot, 0x90) {
    for (size_t i = 0; i + 1 < slots; i++) write_slot(i);
    put(slots - 1, {0xff, 0xe0});  // the end jumps back, anywhere
  }

  void run(FlowWriter& flow, size_t steps, std::vector<uint64_t>& ran) {
    uint64_t ip = kCode;
    uint64_t tsc = 1'000'000;
    flow.begin(tsc);
    for (size_t i = 0; i < steps; i++) {
      tsc += random_() % 40'000;
      if (chance(200)) ip = interrupt(flow, ip, tsc);
      if (chance(500)) flow.pause(ip, tsc);
      if (chance(700)) flow.synchronise(ip, tsc);
      const Instruction instruction = at(ip);
      const uint64_t next = next_of(instruction, ip);
      flow.executed(instruction, ip, next, tsc);
      ran.push_back(ip);
      ip = next;
    }
    flow.pause(ip, tsc);
    flow.flush();
  }

  size_t read(uint64_t ip, uint8_t* to, size_t bytes) const {
    if (ip < kCode || ip >= kCode + code_.size()) return 0;
    bytes = std::min<size_t>(bytes, kCode + code_.size() - ip);
    std::copy_n(code_.begin() + static_cast<std::ptrdiff_t>(ip - kCode), bytes, to);
    return bytes;
  }

 private:
  bool chance(uint64_t of) { return random_() % of == 0; }
  uint64_t anywhere() { return kCode + random_() % (code_.size() / kSlot) * kSlot; }

  void put(size_t slot, const std::vector<uint8_t>& bytes) {
    std::copy(bytes.begin(), bytes.end(), code_.begin() + static_cast<std::ptrdiff_t>(slot * kSlot));
  }

  // What needs no packet leads forward: where a thread comes by twice without a decision, packets cannot say which time
  // an interrupt means; nor can a processor's.
  void put_relative(size_t slot, std::vector<uint8_t> opcode) {
    const uint64_t behind = kCode + slot * kSlot + opcode.size() + 4;
    const uint64_t forward = kCode + (slot + 1 + random_() % (code_.size() / kSlot - slot - 1)) * kSlot;
    const uint64_t target = opcode.size() == 2 ? anywhere() : forward;
    const auto displacement = static_cast<uint32_t>(chance(20) ? 0 : target - behind);
    for (int i = 0; i < 4; i++) opcode.push_back(static_cast<uint8_t>(displacement >> (8 * i)));
    put(slot, opcode);
  }

  void write_slot(size_t slot) {
    switch (random_() % 12) {
      case 0:
      case 1:
      case 2:
        return put_relative(slot, {0x0f, 0x84});  // je
      case 3:
        return put_relative(slot, {0xe9});  // jmp
      case 4:
      case 5:
        return put_relative(slot, {0xe8});  // call
      case 6:
        return put(slot, {0xff, 0xd0});  // call rax
      case 7:
        return put(slot, {0xff, 0xe0});  // jmp rax
      case 8:
      case 9:
        return put(slot, {0xc3});
      case 10:
        return put(slot, {0x0f, 0x05});
      default:
        return put(slot, {0x48, 0x89, 0xc0});
    }
  }

  Instruction at(uint64_t ip) {
    std::array<uint8_t, kMostInstructionBytes> bytes{};
    return classify({bytes.data(), read(ip, bytes.data(), bytes.size())});
  }

  uint64_t next_of(const Instruction& instruction, uint64_t ip) {
    switch (instruction.kind) {
      case InstructionKind::kConditional:
        return chance(2) ? instruction.target(ip) : instruction.behind(ip);
      case InstructionKind::kCall:
        stack_.push_back(instruction.behind(ip));
        return instruction.target(ip);
      case InstructionKind::kCallIndirect:
        stack_.push_back(instruction.behind(ip));
        return anywhere();
      case InstructionKind::kReturn:
        return pop();
      case InstructionKind::kJump:
        return instruction.target(ip);
      case InstructionKind::kJumpIndirect:
        return anywhere();
      case InstructionKind::kSystemCall:
        return chance(4) ? ip : chance(8) ? anywhere() : instruction.behind(ip);  // again, or a handler
      default:
        return instruction.behind(ip);
    }
  }

  // Mostly where the call came from, and sometimes not, as exceptions and longjmp() have it.
  uint64_t pop() {
    if (stack_.empty() || chance(20)) return anywhere();
    const uint64_t ip = stack_.back();
    stack_.pop_back();
    return ip;
  }

  uint64_t interrupt(FlowWriter& flow, uint64_t ip, uint64_t tsc) {
    const uint64_t handler = anywhere();
    flow.interrupted(ip, handler, tsc);
    return handler;
  }

  std::mt19937_64 random_;
  std::vector<uint8_t> code_;
  std::vector<uint64_t> stack_;
};

struct Made {
  std::vector<uint8_t> packets;
  std::vector<uint64_t> ran;
  uint64_t unexplained = 0;
};

Made run(RandomProgram& program, size_t steps) {
  Made run;
  FlowWriter flow(
      26, [&](std::span<const uint8_t> some) { run.packets.insert(run.packets.end(), some.begin(), some.end()); });
  program.run(flow, steps, run.ran);
  run.unexplained = flow.take_unexplained();
  return run;
}

DecodedFlow decode(const RandomProgram& program, std::vector<uint8_t> packets) {
  return decode_stream(std::move(packets), 26,
                       [&](uint64_t ip, uint64_t, uint8_t* to, size_t bytes) { return program.read(ip, to, bytes); });
}

TEST(FlowWriter, WhatIsDecodedIsWhatWasRun) {
  for (uint64_t seed = 1; seed <= 40; seed++) {
    RandomProgram program(seed, 20 + seed * 5);
    const Made made = run(program, 20'000);
    const DecodedFlow flow = decode(program, made.packets);
    ASSERT_EQ(flow.error, "") << "seed " << seed;
    ASSERT_EQ(flow.ips, made.ran) << "seed " << seed;
    EXPECT_EQ(made.unexplained, 0U);
    EXPECT_EQ(flow.first_tsc / 1'000'000, 1U);
  }
}

// Whatever is cut off at the end takes away from the end alone.
TEST(FlowWriter, EveryPrefixDecodesToAPrefix) {
  RandomProgram program(99, 100);
  const Made made = run(program, 3'000);
  for (size_t size = 0; size < made.packets.size(); size++) {
    const DecodedFlow flow =
        decode(program, {made.packets.begin(), made.packets.begin() + static_cast<std::ptrdiff_t>(size)});
    // A decoder goes on until it needs a packet: as far as there is nothing to decide, it may run ahead.
    const size_t both = std::min(flow.ips.size(), made.ran.size());
    const auto end = flow.ips.begin() + static_cast<std::ptrdiff_t>(both);
    const auto differs = std::mismatch(flow.ips.begin(), end, made.ran.begin()).first;
    ASSERT_LE(end - differs, kMostAhead) << "of " << both << " at " << size;
  }
}

TEST(FlowWriter, ReturnsAreOneBitAndDirectCallsNothing) {
  Made made;
  FlowWriter flow(
      26, [&](std::span<const uint8_t> some) { made.packets.insert(made.packets.end(), some.begin(), some.end()); });
  flow.begin(1000);
  const Instruction call{0x100, 5, InstructionKind::kCall, 0};
  const Instruction back{0, 1, InstructionKind::kReturn, 0};
  flow.executed(call, kCode, call.target(kCode), 1000);
  const uint64_t before = flow.bytes();
  for (int i = 0; i < 60; i++) {
    flow.executed(back, call.target(kCode), call.behind(kCode), 1000);
    flow.executed(call, kCode, call.target(kCode), 1000);
  }
  EXPECT_EQ(flow.bytes() - before, 10U);
}

TEST(FlowWriter, WhatAnInstructionDoesNotExplainIsAnInterruptAndCounted) {
  Made made;
  FlowWriter flow(
      26, [&](std::span<const uint8_t> some) { made.packets.insert(made.packets.end(), some.begin(), some.end()); });
  flow.begin(1000);
  const Instruction nop{0, 1, InstructionKind::kOther, 0};
  flow.executed(nop, kCode, kCode + 1, 1000);
  flow.executed(nop, kCode + 1, kCode + 64, 1000);
  flow.executed(nop, kCode + 64, kCode + 65, 1000);
  flow.pause(kCode + 65, 1001);
  flow.flush();
  EXPECT_EQ(flow.take_unexplained(), 1U);
  EXPECT_EQ(flow.take_unexplained(), 0U);
  const DecodedFlow decoded = decode_stream(made.packets, 26, [](uint64_t, uint64_t, uint8_t* to, size_t bytes) {
    std::fill_n(to, bytes, 0x90);
    return bytes;
  });
  EXPECT_EQ(decoded.ips, (std::vector<uint64_t>{kCode, kCode + 1, kCode + 64}));
}

}  // namespace
}  // namespace fathom::snapshot::step
