#include "bench/snapshot/streams.h"

#include <algorithm>
#include <map>

#include "snapshot/decode/testing/stream_builder.h"

namespace fathom::bench {
namespace {

using snapshot::Instruction;
using snapshot::Op;
using snapshot::Program;
using snapshot::StreamBuilder;
using snapshot::StreamOptions;

constexpr uint64_t kBase = 0x401000;
constexpr uint64_t kTurns = 64;
constexpr size_t kMostDepth = 12;

// Runs a program: what its conditional branches do depends on how often they were met and how deep the calls are.
class Processor {
 public:
  Processor(const Program& program, StreamBuilder& builder) : program_(program), builder_(builder) {}

  void run(uint64_t instructions) {
    for (uint64_t count = 0; count < instructions; ++count) step(program_.instruction(builder_.ip()));
    builder_.disable();
  }

 private:
  void step(const Instruction& instruction) {
    switch (instruction.op) {
      case Op::kJcc:
        return builder_.step_jcc(instruction, taken(instruction));
      case Op::kReturn:
        return give_back(instruction);
      case Op::kCall:
        callers_.push_back(instruction.ip + instruction.size);
        [[fallthrough]];
      default:
        return builder_.step(instruction);
    }
  }
  // Backward: a loop. Forward: out of a recursion that is deep enough.
  bool taken(const Instruction& instruction) {
    if (instruction.target > instruction.ip) return callers_.size() >= kMostDepth;
    return ++met_[instruction.ip] % kTurns != 0;
  }
  void give_back(const Instruction& instruction) {
    const uint64_t to = callers_.back();
    callers_.pop_back();
    builder_.step_indirect(instruction, to);
  }

  const Program& program_;
  StreamBuilder& builder_;
  std::vector<uint64_t> callers_;
  std::map<uint64_t, uint64_t> met_;
};

MadeStream record(Program& program, std::vector<Program::Label> functions, StreamOptions options,
                  uint64_t instructions) {
  MadeStream made;
  made.base = program.base();
  made.code = program.link();
  made.instructions = instructions;
  made.timing = StreamBuilder::timing();
  for (Program::Label label : functions) made.functions.push_back(program.address(label));
  std::sort(made.functions.begin(), made.functions.end());
  options.psb_bytes = 4096;
  options.remember = false;
  StreamBuilder builder(options);
  builder.enable(program.address(functions.front()));
  Processor(program, builder).run(instructions);
  made.packets = builder.stream();
  return made;
}

void add_loop(Program& program, int body) {
  const auto begin = program.here();
  program.plain(body);
  program.jcc(begin);
}

}  // namespace

MadeStream make_loops(uint64_t instructions) {
  Program program(kBase);
  const auto main = program.here();
  const auto called = program.forward();
  program.plain(2);
  add_loop(program, 12);
  program.call(called);
  program.jump(main);
  program.bind(called);
  program.plain(3);
  add_loop(program, 8);
  program.ret();
  StreamOptions options;
  options.mtc = true;
  return record(program, {main, called}, options, instructions);
}

MadeStream make_calls(uint64_t instructions) {
  Program program(kBase);
  const auto main = program.here();
  const auto called = program.forward();
  program.call(called);
  program.jump(main);
  program.bind(called);
  const auto deep_enough = program.forward();
  program.plain(3);
  program.jcc(deep_enough);
  program.plain(2);
  program.call(called);
  program.plain(2);
  program.call(called);
  program.bind(deep_enough);
  program.plain(2);
  program.ret();
  StreamOptions options;
  options.mtc = options.cyc = true;
  return record(program, {main, called}, options, instructions);
}

snapshot::CodeExtent MadeExtents::find(int32_t, uint64_t, uint64_t ip) const {
  const auto next = std::upper_bound(stream_.functions.begin(), stream_.functions.end(), ip);
  snapshot::CodeExtent extent;
  extent.begin = next == stream_.functions.begin() ? stream_.base : *(next - 1);
  extent.end = next == stream_.functions.end() ? stream_.base + stream_.code.size() : *next;
  extent.symbol = true;
  extent.identity = this;
  return extent;
}

}  // namespace fathom::bench
