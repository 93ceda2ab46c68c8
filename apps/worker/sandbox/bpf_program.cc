#include "apps/worker/sandbox/bpf_program.h"

#include <linux/audit.h>
#include <linux/seccomp.h>

#include <bit>
#include <cassert>
#include <utility>

namespace fathom {

namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "state the architecture whose system calls the filter knows"
#endif

// The x32 ABI has the architecture of x86-64, and this bit in its numbers.
constexpr uint32_t kX32Bit = 0x40000000;

static_assert(std::endian::native == std::endian::little, "arguments are read as two halves, the lower one first");

constexpr uint32_t lower_half(uint8_t argument) {
  return static_cast<uint32_t>(offsetof(seccomp_data, args) + 8u * argument);
}

sock_filter load(uint32_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
}

sock_filter answer(uint32_t action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}

// One rule: a test that fails jumps behind the rule. The distances are known when the rule is complete.
class RuleCode {
 public:
  explicit RuleCode(const CallRule& rule) {
    code_.push_back(load(offsetof(seccomp_data, nr)));
    require(rule.number, true);
    for (const ArgumentTest& test : rule.tests) add(test);
    code_.push_back(answer(rule.action));
  }

  void append_to(std::vector<sock_filter>& program) && {
    for (const auto& [at, is_equal] : exits_) {
      const auto distance = static_cast<uint8_t>(code_.size() - at - 1);
      (is_equal ? code_[at].jf : code_[at].jt) = distance;
    }
    program.insert(program.end(), code_.begin(), code_.end());
  }

 private:
  void require(uint32_t value, bool is_equal) {
    exits_.emplace_back(code_.size(), is_equal);
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 0));
  }

  void add(const ArgumentTest& test) {
    if (test.is_upper_half_zero) {
      code_.push_back(load(lower_half(test.argument) + 4));
      require(0, true);
    }
    code_.push_back(load(lower_half(test.argument)));
    if (test.mask != UINT32_MAX) code_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, test.mask));
    require(test.value, test.is_equal);
  }

  std::vector<sock_filter> code_;
  std::vector<std::pair<size_t, bool>> exits_;
};

void reject_foreign_abis(const CallPolicy& policy, std::vector<sock_filter>& program) {
  program.push_back(load(offsetof(seccomp_data, arch)));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
  program.push_back(answer(policy.foreign_abi));
#ifdef __x86_64__
  program.push_back(load(offsetof(seccomp_data, nr)));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32Bit, 0, 1));
  program.push_back(answer(policy.foreign_abi));
#endif
}

}  // namespace

std::vector<sock_filter> assemble(const CallPolicy& policy) {
  std::vector<sock_filter> program;
  reject_foreign_abis(policy, program);
  for (const CallRule& rule : policy.rules) {
    assert(rule.tests.size() <= kMostArgumentTests);
    RuleCode(rule).append_to(program);
  }
  program.push_back(answer(policy.other_calls));
  return program;
}

}  // namespace fathom
