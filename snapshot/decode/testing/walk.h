// A program with everything in it that makes packets, and random walks through it.
#pragma once

#include <random>
#include <vector>

#include "snapshot/decode/testing/stream_builder.h"

namespace fathom::snapshot {

// Functions that call each other, loops, indirect jumps and calls, system calls, far returns.
class WalkedProgram {
 public:
  explicit WalkedProgram(uint64_t base, unsigned seed);

  const std::string& bytes() { return program_.link(); }
  const Program& program() const { return program_; }
  const std::vector<Program::Label>& functions() const { return functions_; }
  uint64_t function(size_t number) const { return program_.address(functions_[number]); }
  uint64_t handler() const { return program_.address(handler_); }

 private:
  void add_function(std::mt19937& random);
  void add_piece(std::mt19937& random);

  Program program_;
  std::vector<Program::Label> functions_;
  Program::Label handler_ = 0;
};

struct WalkOptions {
  unsigned seed = 1;
  uint64_t instructions = 10000;
  bool interrupts = true;
  bool overflows = false;
};

// Walks, and leaves recording stopped at the end.
void walk(const WalkedProgram& code, StreamBuilder& builder, const WalkOptions& options);

}  // namespace fathom::snapshot
