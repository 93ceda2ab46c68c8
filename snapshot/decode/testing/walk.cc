#include "snapshot/decode/testing/walk.h"

#include <utility>

namespace fathom::snapshot {
namespace {

constexpr int kFunctions = 24;
constexpr int kPieces = 6;
constexpr size_t kDeepest = 40;

unsigned below(std::mt19937& random, size_t limit) {
  return static_cast<unsigned>(random() % limit);
}

class Walker {
 public:
  Walker(const WalkedProgram& code, StreamBuilder& builder, const WalkOptions& options)
      : code_(code), builder_(builder), options_(options), random_(options.seed) {}

  void walk() {
    builder_.enable(code_.function(0));
    while (builder_.executed().size() < options_.instructions) step();
    builder_.disable();
  }

 private:
  bool chance(unsigned one_in) { return below(random_, one_in) == 0; }
  uint64_t any_function() { return code_.function(below(random_, code_.functions().size())); }

  void step() {
    if (options_.interrupts && !interrupted_ && chance(300)) interrupt();
    if (options_.overflows && chance(2000)) overflow();
    run(code_.program().instruction(builder_.ip()));
  }

  void interrupt() {
    interrupted_ = builder_.ip();
    builder_.interrupt(code_.handler());
  }

  void overflow() {
    calls_.clear();
    interrupted_ = 0;
    builder_.overflow(any_function());
  }

  void run(const Instruction& instruction) {
    switch (instruction.op) {
      case Op::kPlain:
      case Op::kJump:
        return builder_.step(instruction);
      case Op::kJcc:
        return builder_.step_jcc(instruction, chance(2));
      case Op::kCall:
        calls_.push_back(instruction.ip + instruction.size);
        return builder_.step(instruction);
      case Op::kIndirectCall:
        calls_.push_back(instruction.ip + instruction.size);
        return builder_.step_indirect(instruction, any_function());
      case Op::kIndirectJump:
        return builder_.step_indirect(instruction, any_function());
      case Op::kReturn:
        return builder_.step_indirect(instruction, return_address());
      case Op::kInterruptReturn:
        return builder_.step_indirect(instruction, std::exchange(interrupted_, 0));
      case Op::kSystemCall:
        return system_call(instruction);
      case Op::kPtwrite:
        return builder_.step_ptwrite(instruction, random_());
    }
  }

  // Mostly to the caller, sometimes (longjmp) elsewhere.
  uint64_t return_address() {
    if (calls_.empty() || calls_.size() > kDeepest || chance(200)) {
      calls_.clear();
      return any_function();
    }
    const uint64_t back = calls_.back();
    calls_.pop_back();
    return back;
  }

  void system_call(const Instruction& instruction) {
    builder_.step_system_call(instruction);
    builder_.pass(1000);
    builder_.enable(instruction.ip + instruction.size);
  }

  const WalkedProgram& code_;
  StreamBuilder& builder_;
  const WalkOptions& options_;
  std::mt19937 random_;
  std::vector<uint64_t> calls_;
  uint64_t interrupted_ = 0;
};

}  // namespace

WalkedProgram::WalkedProgram(uint64_t base, unsigned seed) : program_(base) {
  std::mt19937 random(seed);
  handler_ = program_.here();
  program_.plain(3);
  program_.interrupt_return();
  for (int number = 0; number < kFunctions; ++number) functions_.push_back(program_.forward());
  for (auto function : functions_) {
    program_.bind(function);
    add_function(random);
  }
  program_.link();
}

void WalkedProgram::add_function(std::mt19937& random) {
  for (int piece = 0; piece < kPieces; ++piece) add_piece(random);
  program_.ret();
}

void WalkedProgram::add_piece(std::mt19937& random) {
  const auto begin = program_.here();
  program_.plain(1 + static_cast<int>(below(random, 12)));
  const auto behind = program_.forward();
  switch (below(random, 8)) {
    case 0:
      program_.call(functions_[below(random, functions_.size())]);
      break;
    case 1:
      program_.indirect_call();
      break;
    case 2:
      program_.jcc(begin);
      break;
    case 3:
      program_.jcc(behind);
      program_.plain(5);
      break;
    case 4:
      program_.jump(behind);
      program_.plain(2);
      break;
    case 5:
      program_.system_call();
      break;
    case 6:
      program_.ptwrite();
      break;
    default:
      program_.jcc(behind);
      program_.indirect_jump();
      break;
  }
  program_.bind(behind);
}

void walk(const WalkedProgram& code, StreamBuilder& builder, const WalkOptions& options) {
  Walker(code, builder, options).walk();
}

}  // namespace fathom::snapshot
