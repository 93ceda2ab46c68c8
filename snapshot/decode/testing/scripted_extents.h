// Code as tests want it: extents that are told, and flow over them.
#pragma once

#include <map>

#include "snapshot/decode/call_functions.h"

namespace fathom::snapshot {

class ScriptedExtents final : public CodeExtents {
 public:
  void add(uint64_t begin, uint64_t size, bool symbol = true, bool stub = false) {
    extents_[begin] = {begin, begin + size, symbol, stub, this};
  }
  CodeExtent find(int32_t, uint64_t, uint64_t ip) const override {
    auto after = extents_.upper_bound(ip);
    if (after == extents_.begin() || ip >= std::prev(after)->second.end) return {ip, ip + 1, false, false, nullptr};
    return std::prev(after)->second;
  }
  const void* space(int32_t, uint64_t) const override { return this; }

 private:
  std::map<uint64_t, CodeExtent> extents_;
};

inline FlowItem block_item(uint64_t ip, uint64_t to, uint32_t count, BlockEnd end, uint64_t tsc) {
  FlowItem item;
  item.ip = ip;
  item.to = to;
  item.count = count;
  item.end = end;
  item.tsc = tsc;
  return item;
}
inline FlowItem event_item(FlowKind kind, uint64_t ip, uint64_t to, uint64_t tsc, GapReason reason = GapReason::kNone) {
  FlowItem item;
  item.kind = kind;
  item.ip = ip;
  item.to = to;
  item.tsc = tsc;
  item.reason = reason;
  return item;
}

}  // namespace fathom::snapshot
