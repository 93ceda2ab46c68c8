// TriggerBell: how a program asks for a snapshot, and how the recorder is woken, within microseconds.
//
// Purpose: the path of fathom::trigger(), of an overdue span and of a span at its end, up to the stop of the rings. A
// shared page holds the requests (who, when, on which CPU, for which span), and an eventfd wakes the recorder's thread,
// which stops the ring of that CPU first. The one system call on the program's side is the write to the eventfd; it
// never blocks. Thread safety: any thread of any process rings, one thread answers. Ownership: each side maps the page;
// descriptors are closed with it. Errors: requests beyond kSlots that nobody read yet are counted as missed. The page
// is written by programs and is hostile: what is read is bounds-checked values only.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/fd.h"
#include "base/ids.h"
#include "base/result.h"

namespace fathom::snapshot {

struct TriggerRequest {
  uint64_t tsc = 0;
  int32_t pid = -1;
  int32_t tid = -1;
  int32_t cpu = -1;
  uint32_t reason = 0;  // BellReason
  Id<16> trace_id;
  Id<8> span_id;
};

enum class BellReason : uint32_t { kProgram = 0, kOverdue = 1, kSlow = 2 };

class TriggerBell {
 public:
  static constexpr uint64_t kSlots = 64;

  static Result<TriggerBell> make();
  // The program's side, from descriptors that came by a socket.
  static Result<TriggerBell> attach(Fd page, Fd bell);
  TriggerBell(TriggerBell&& other) noexcept;
  TriggerBell& operator=(TriggerBell&& other) noexcept;
  ~TriggerBell();

  int page() const { return page_.get(); }
  int poll_descriptor() const { return bell_.get(); }

  // Safe in a signal handler. Fills in tsc, tid and cpu of the calling thread.
  void ring(BellReason reason, const Id<16>& trace_id, const Id<8>& span_id);
  // Everything since the last call; does not wait.
  std::vector<TriggerRequest> answer();
  uint64_t missed() const { return missed_; }

 private:
  struct Slot {
    std::atomic<uint64_t> turn;  // its request's number + 1; 0 while it is written
    TriggerRequest request;
  };
  struct Page {
    std::atomic<uint64_t> next;
    Slot slots[kSlots];
  };

  TriggerBell(Fd page, Fd bell) : page_(std::move(page)), bell_(std::move(bell)) {}
  Result<> map();
  bool read_slot(uint64_t number, TriggerRequest& request) const;

  Fd page_;
  Fd bell_;
  Page* shared_ = nullptr;
  uint64_t answered_ = 0;
  uint64_t missed_ = 0;
};

}  // namespace fathom::snapshot
