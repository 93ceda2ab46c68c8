// assemble(): a seccomp filter from a table of rules.
//
// Purpose: state which system calls pass, with which arguments, as data. The program rejects other architectures and
// the x32 ABI first, then tries the rules in order; the first rule that matches decides. Thread safety: pure function.
// Ownership: values. Errors: none; a rule has at most kMostArgumentTests tests, which is asserted.
#pragma once

#include <linux/filter.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fathom {

inline constexpr size_t kMostArgumentTests = 6;

// A test of the lower half of an argument: the kernel reads no more of an `int`.
struct ArgumentTest {
  uint8_t argument = 0;  // 0 to 5
  uint32_t value = 0;
  uint32_t mask = UINT32_MAX;       // applied before the comparison
  bool is_equal = true;             // false: the values must differ
  bool is_upper_half_zero = false;  // for arguments of 64 bits
};

struct CallRule {
  uint32_t number = 0;                   // SYS_...
  uint32_t action = 0;                   // SECCOMP_RET_...
  std::vector<ArgumentTest> tests = {};  // all must hold
};

struct CallPolicy {
  std::vector<CallRule> rules;
  uint32_t other_calls = 0;  // the action for calls without a matching rule
  uint32_t foreign_abi = 0;  // the action for other architectures, and for x32 on x86-64
};

std::vector<sock_filter> assemble(const CallPolicy& policy);

}  // namespace fathom
