// Program: a little machine code with labels, which knows its own instructions; for tests that must know what ran.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::snapshot {

// Where tests lay code: a program's, and the kernel's.
inline constexpr uint64_t kProgramBase = 0x401000;
inline constexpr uint64_t kKernelBase = 0xffffffff81000000;

enum class Op : uint8_t {
  kPlain,
  kJump,
  kJcc,
  kCall,
  kIndirectCall,
  kIndirectJump,
  kReturn,
  kSystemCall,
  kInterruptReturn,
  kPtwrite
};

struct Instruction {
  uint64_t ip = 0;
  uint8_t size = 0;
  Op op = Op::kPlain;
  uint64_t target = 0;  // of direct branches
};

class Program {
 public:
  using Label = size_t;

  explicit Program(uint64_t base) : base_(base) {}

  Label here();     // a label at this place
  Label forward();  // a label that bind() places later
  void bind(Label label) { labels_[label] = at(); }
  uint64_t address(Label label) const { return labels_[label]; }
  uint64_t base() const { return base_; }
  uint64_t at() const { return base_ + bytes_.size(); }

  void plain(int count = 1);  // of several sizes
  void jump(Label to) { branch("\xe9", Op::kJump, to); }
  void jcc(Label to) { branch("\x0f\x84", Op::kJcc, to); }
  void call(Label to) { branch("\xe8", Op::kCall, to); }
  void indirect_call() { add("\xff\xd0", Op::kIndirectCall); }
  void indirect_jump() { add("\xff\xe0", Op::kIndirectJump); }
  void ret() { add("\xc3", Op::kReturn); }
  void system_call() { add("\x0f\x05", Op::kSystemCall); }
  void interrupt_return() { add("\x48\xcf", Op::kInterruptReturn); }
  // Of 32 bits (in 64 bits the first one is a prefix).
  void increment() { add("\x40", Op::kPlain); }
  void interrupt_return_32() { add("\xcf", Op::kInterruptReturn); }
  void ptwrite() { add("\xf3\x48\x0f\xae\xe0", Op::kPtwrite); }
  // Bytes that are code nowhere: up to an address.
  void pad_to(uint64_t address) { bytes_.resize(address - base_, '\x06'); }

  // After the last instruction: fills in the branches. The bytes lie at base().
  const std::string& link();
  const Instruction& instruction(uint64_t ip) const { return instructions_.at(ip); }
  bool holds(uint64_t ip) const { return instructions_.contains(ip); }

 private:
  struct Fixup {
    uint64_t ip;
    size_t label;
  };
  void add(std::string_view bytes, Op op);
  void branch(std::string_view opcode, Op op, Label to);

  uint64_t base_;
  std::string bytes_;
  std::vector<uint64_t> labels_;
  std::vector<Fixup> fixups_;
  std::map<uint64_t, Instruction> instructions_;
};

}  // namespace fathom::snapshot
