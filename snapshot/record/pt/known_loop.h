// A function whose every instruction is known beforehand: what `doctor --pt` records and compares.
//
// Purpose: a host has Intel PT that works when what was decoded is what ran, address by address. Thread safety: pure
// functions.
#pragma once

#include <cstdint>
#include <vector>

namespace fathom::snapshot {

// Runs the loop `rounds` times: branches both ways, a jump, a return.
void run_known_loop(uint32_t rounds);
// The addresses of the instructions that it runs, in order.
std::vector<uint64_t> known_path(uint32_t rounds);
// For each conditional branch on that path, in order, whether it is taken: for tests that write packets.
std::vector<bool> known_branches(uint32_t rounds);

struct CodeRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool holds(uint64_t address) const { return address >= begin && address < end; }
};
CodeRange known_code();

}  // namespace fathom::snapshot
