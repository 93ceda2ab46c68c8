// CallFunctions: the functions that call stacks are made of, found by address and known by pointer.
//
// Purpose: a call tree compares functions millions of times a second and names them once, at the end. A function here is
// an extent of a process's addresses; two parts of a stream that are looked at side by side get the same pointer for
// the same function. Code without symbols is one place as far as anybody knows (a library's text); what is called
// there is a function of its own, known by the address that was called. Thread safety: CallFunctions from any thread;
// a CallFunctionCache by one. Ownership: pointers live as long as the table, which keeps a reference to its extents.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>

#include "snapshot/decode/flow.h"

namespace fathom::snapshot {

// What is known of the code around an address.
struct CodeExtent {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool symbol = false;             // false: a stretch of code that no symbol covers
  bool stub = false;               // an entry of a procedure linkage table: no function of anybody's
  const void* identity = nullptr;  // tells extents of the same addresses apart: symbol, image
};

class CodeExtents {
 public:
  virtual ~CodeExtents() = default;
  // Contains `ip`.
  virtual CodeExtent find(int32_t pid, uint64_t tsc, uint64_t ip) const = 0;
  // Equal as long as find() answers the same.
  virtual const void* space(int32_t pid, uint64_t tsc) const = 0;
};

struct CallFunction {
  uint32_t id = 0;
  bool symbol = false;
  bool stub = false;
  GapReason gap = GapReason::kNone;  // no function, but the stretch behind a gap
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t entry = 0;  // where it was called, in code without symbols; 0: not known
  // Where and when it was seen first, to find its name.
  int32_t pid = 0;
  uint64_t tsc = 0;
  const CallFunction* place = nullptr;  // the stretch that holds it; itself, if it has a symbol

  bool starts_at(uint64_t ip) const { return symbol && ip == begin; }
};

class CallFunctions {
 public:
  explicit CallFunctions(const CodeExtents& extents);

  // The function, or the stretch of code without symbols, at an address.
  const CallFunction* place(int32_t pid, uint64_t tsc, uint64_t ip);
  // The function that begins at `ip` in `place`.
  const CallFunction* entered(const CallFunction* place, uint64_t ip);
  const CallFunction* gap(GapReason reason) const { return &gaps_[static_cast<size_t>(reason)]; }
  const CodeExtents& extents() const { return extents_; }

 private:
  const CallFunction* add(CallFunction function);

  const CodeExtents& extents_;
  std::array<CallFunction, static_cast<size_t>(GapReason::kCount)> gaps_;
  std::mutex mutex_;
  std::deque<CallFunction> functions_;
  std::map<std::tuple<uint64_t, uint64_t, const void*>, const CallFunction*> places_;
  std::map<std::pair<const CallFunction*, uint64_t>, const CallFunction*> entered_;
};

// What one thread of decoding asked lately, without the lock.
class CallFunctionCache {
 public:
  explicit CallFunctionCache(CallFunctions& functions) : functions_(functions) {}

  // To be told now and then: forgets what a process shows no longer.
  void at(int32_t pid, uint64_t tsc);
  const CallFunction* place(int32_t pid, uint64_t tsc, uint64_t ip) { return entry(pid, tsc, ip).place; }
  const CallFunction* entered(int32_t pid, uint64_t tsc, uint64_t ip) {
    Entry& found = entry(pid, tsc, ip);
    if (found.entered == nullptr) found.entered = functions_.entered(found.place, ip);
    return found.entered;
  }
  CallFunctions& functions() { return functions_; }

 private:
  struct Entry {
    uint64_t ip = 0;
    const CallFunction* place = nullptr;
    const CallFunction* entered = nullptr;
    int32_t pid = 0;
  };
  Entry& entry(int32_t pid, uint64_t tsc, uint64_t ip) {
    Entry& found = entries_[(ip ^ ip >> 10 ^ static_cast<uint32_t>(pid)) % kEntries];
    if (found.ip != ip || found.pid != pid || found.place == nullptr) fill(found, pid, tsc, ip);
    return found;
  }
  void fill(Entry& entry, int32_t pid, uint64_t tsc, uint64_t ip);

  static constexpr size_t kEntries = 1024;
  CallFunctions& functions_;
  std::unordered_map<int32_t, const void*> spaces_;
  std::array<Entry, kEntries> entries_{};
};

}  // namespace fathom::snapshot
