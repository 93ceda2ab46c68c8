// RandomProgram: flow over functions, stubs, code without symbols and a kernel, that mostly behaves, and now and then
// does anything at all; for tests that compare two ways to look at it.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "snapshot/decode/testing/scripted_extents.h"

namespace fathom::snapshot {

inline constexpr uint64_t kKernel = 0xffffffff80000000;
inline constexpr uint64_t kFunctionSize = 0x100;

// Functions of the program, stubs, code without symbols, and of the kernel.
struct RandomCode {
  ScriptedExtents extents;
  std::vector<uint64_t> user, stubs, unnamed, kernel;

  RandomCode() {
    for (uint64_t i = 1; i <= 8; ++i) user.push_back(i * 0x1000);
    for (uint64_t i = 1; i <= 2; ++i) stubs.push_back(0x100000 + i * 0x100);
    for (uint64_t i = 1; i <= 2; ++i) unnamed.push_back(0x200000 + i * 0x1000);
    for (uint64_t i = 1; i <= 3; ++i) kernel.push_back(kKernel + i * 0x1000);
    for (uint64_t at : user) extents.add(at, kFunctionSize);
    for (uint64_t at : stubs) extents.add(at, 16, true, true);
    for (uint64_t at : unnamed) extents.add(at, 0x800, false);
    for (uint64_t at : kernel) extents.add(at, kFunctionSize);
  }
};

// A program that mostly behaves, and now and then does anything at all.
class RandomProgram {
 public:
  RandomProgram(const RandomCode& code, uint64_t seed) : code_(code), random_(seed), wild_(random_() % 3 == 0) {
    here_ = pick(code_.user) + 0x20;
    gaps_ = random_() % 2 == 0;
  }

  std::vector<FlowItem> run(size_t steps) {
    for (size_t i = 0; i < steps; ++i) step();
    return std::move(items_);
  }

 private:
  uint64_t pick(const std::vector<uint64_t>& from) { return from[random_() % from.size()]; }
  uint64_t anywhere() {
    switch (random_() % 6) {
      case 0:
        return pick(code_.unnamed) + 0x10 * (random_() % 0x60);
      case 1:
        return pick(code_.stubs) + 4 * (random_() % 3);
      case 2:
        return pick(code_.kernel) + 8 * (random_() % 20);
      default:
        return pick(code_.user) + 8 * (random_() % 20);
    }
  }
  uint64_t tick() { return tsc_ += random_() % 3 == 0 ? random_() % 50 : 0; }
  // Straight on from `here_`, then `end`; the next block begins at `next`.
  void go(BlockEnd end, uint64_t next) {
    const uint64_t to = here_ + random_() % 3;
    items_.push_back(block_item(here_, to, 1 + random_() % 5, end, tick()));
    from_ = to;
    here_ = next;
  }
  void event(FlowKind kind, uint64_t ip, uint64_t to) { items_.push_back(event_item(kind, ip, to, tick())); }

  void call(uint64_t to) {
    stack_.push_back(here_ + 8);
    go(BlockEnd::kCall, to);
    if (code_.extents.find(0, 0, to).stub) go(BlockEnd::kJump, random_() % 8 == 0 ? anywhere() : pick(code_.user));
  }
  void give_back() {
    uint64_t to = anywhere();
    if (!stack_.empty()) {
      to = stack_.back();
      stack_.pop_back();
    }
    came_back_to_ = to;
    go(BlockEnd::kReturn, to);
  }
  void throw_up() {
    if (stack_.empty()) return;
    stack_.resize(random_() % stack_.size() + 1);
    const uint64_t frame = stack_.back();
    stack_.pop_back();
    if (random_() % 3 == 0)
      return go(BlockEnd::kJump, random_() % 2 == 0 && came_back_to_ != 0 ? came_back_to_ : frame);
    go(random_() % 2 == 0 ? BlockEnd::kJump : BlockEnd::kReturn, (frame & ~0xffull) + 0x90);
  }
  void system_call() {
    const uint64_t next = here_ + 4;
    go(BlockEnd::kFarCall, next);
    from_ = items_.back().to;
    here_ = from_ + 2;
    if (random_() % 4 == 0) return kernel_call();
    event(FlowKind::kPause, random_() % 2 == 0 ? 0 : from_, 0);
    if (random_() % 8 == 0) return other_program();
    if (random_() % 6 == 0) return handle_signal();
    event(FlowKind::kResume, here_, 0);
  }
  void other_program() {
    stack_.clear();
    here_ = random_() % 2 == 0 ? pick(code_.user) : pick(code_.unnamed) + 0x20;
    event(FlowKind::kProgram, 0, 0);
    event(FlowKind::kResume, here_, 0);
  }
  void kernel_call() {
    uint64_t back = here_;
    here_ = pick(code_.kernel);
    go(BlockEnd::kConditionalJump, here_ + 4);
    if (random_() % 8 == 0) {
      event(FlowKind::kProgram, 0, 0);
      back = pick(code_.user);
    }
    go(BlockEnd::kFarReturn, random_() % 8 == 0 ? pick(code_.user) : back);
  }
  void handle_signal() {
    interrupted_.push_back(here_);
    here_ = pick(code_.user);
    event(FlowKind::kResume, here_, 0);
  }
  void interrupt() {
    const uint64_t back = here_;
    const uint64_t handler = random_() % 2 == 0 ? pick(code_.kernel) : pick(code_.user);
    event(FlowKind::kInterrupt, here_, handler);
    here_ = handler;
    if (handler < kKernel) return interrupted_.push_back(back);
    go(BlockEnd::kOther, here_ + 4);
    go(BlockEnd::kFarReturn, back);
  }
  void end_signal() {
    if (interrupted_.empty()) return;
    go(BlockEnd::kReturn, pick(code_.unnamed) + 0x700);
    go(BlockEnd::kFarCall, 0);
    event(FlowKind::kPause, 0, 0);
    here_ = interrupted_.back();
    interrupted_.pop_back();
    event(FlowKind::kResume, here_, 0);
  }
  void gap() {
    if (!gaps_) return;
    const bool window = random_() % 3 == 0;
    const auto reason = window ? GapReason::kBetweenWindows : static_cast<GapReason>(1 + random_() % 3);
    items_.push_back(event_item(FlowKind::kGap, 0, 0, tick(), reason));
    if (random_() % 3 == 0) items_.push_back(event_item(FlowKind::kGap, 0, 0, tick(), reason));
    if (random_() % 2 == 0 && !stack_.empty()) stack_.resize(random_() % stack_.size());
    here_ = window && random_() % 2 == 0 ? pick(code_.user) : anywhere();
    if (window) event(FlowKind::kResume, here_, 0);
  }
  void chaos() {
    static constexpr BlockEnd kEnds[] = {BlockEnd::kOther,   BlockEnd::kCall,      BlockEnd::kReturn, BlockEnd::kJump,
                                         BlockEnd::kFarCall, BlockEnd::kFarReturn, BlockEnd::kFarJump};
    static constexpr FlowKind kKinds[] = {FlowKind::kInterrupt, FlowKind::kPause, FlowKind::kResume, FlowKind::kMark};
    if (random_() % 2 == 0) return go(kEnds[random_() % std::size(kEnds)], anywhere());
    event(kKinds[random_() % std::size(kKinds)], random_() % 3 == 0 ? 0 : anywhere(),
          random_() % 4 == 0 ? 0 : anywhere());
  }

  void step() {
    if (wild_ && random_() % 4 == 0) return chaos();
    switch (random_() % 24) {
      case 0 ... 6:
        return call(random_() % 5 == 0 ? pick(code_.stubs) : pick(random_() % 6 == 0 ? code_.unnamed : code_.user));
      case 7 ... 13:
        return give_back();
      case 14 ... 16:
        return go(BlockEnd::kConditionalJump, here_ + 2);
      case 17:
        return go(BlockEnd::kJump, random_() % 2 == 0 ? pick(code_.user) : anywhere());
      case 18:
        return throw_up();
      case 19:
        return system_call();
      case 20:
        return interrupt();
      case 21:
        return end_signal();
      case 22:
        return random_() % 8 == 0 ? gap() : void();
      default:
        for (int i = 0; i < 3; ++i) {
          const uint64_t back = here_;
          go(BlockEnd::kJump, anywhere());
          go(BlockEnd::kJump, back + 1);
        }
    }
  }

  const RandomCode& code_;
  std::mt19937_64 random_;
  const bool wild_;
  bool gaps_ = false;
  uint64_t here_ = 0, from_ = 0, tsc_ = 1000, came_back_to_ = 0;
  std::vector<uint64_t> stack_, interrupted_;
  std::vector<FlowItem> items_;
};

}  // namespace fathom::snapshot
