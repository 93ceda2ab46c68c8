#include "snapshot/decode/call_functions.h"

#include <utility>

namespace fathom::snapshot {

CallFunctions::CallFunctions(const CodeExtents& extents) : extents_(extents) {
  for (size_t i = 0; i < gaps_.size(); ++i) {
    gaps_[i].id = static_cast<uint32_t>(i);
    gaps_[i].gap = static_cast<GapReason>(i);
    gaps_[i].place = &gaps_[i];
  }
}

const CallFunction* CallFunctions::add(CallFunction function) {
  function.id = static_cast<uint32_t>(gaps_.size() + functions_.size());
  functions_.push_back(function);
  if (function.place == nullptr) functions_.back().place = &functions_.back();
  return &functions_.back();
}

const CallFunction* CallFunctions::place(int32_t pid, uint64_t tsc, uint64_t ip) {
  CodeExtent extent = extents_.find(pid, tsc, ip);
  if (ip < extent.begin || ip >= extent.end) extent = {ip, ip + 1, false, false, extent.identity};
  std::lock_guard lock(mutex_);
  auto& place = places_[{extent.begin, extent.end, extent.identity}];
  if (place == nullptr) {
    CallFunction function;
    function.symbol = extent.symbol;
    function.stub = extent.stub;
    function.begin = extent.begin;
    function.end = extent.end;
    function.pid = pid;
    function.tsc = tsc;
    place = add(function);
  }
  return place;
}

const CallFunction* CallFunctions::entered(const CallFunction* place, uint64_t ip) {
  if (place->symbol) return place;
  std::lock_guard lock(mutex_);
  auto& entered = entered_[{place, ip}];
  if (entered == nullptr) {
    CallFunction function = *place;
    function.entry = ip;
    entered = add(function);
  }
  return entered;
}

void CallFunctionCache::at(int32_t pid, uint64_t tsc) {
  const void* space = functions_.extents().space(pid, tsc);
  auto [known, fresh] = spaces_.try_emplace(pid, space);
  if (fresh || known->second == space) return;
  known->second = space;
  entries_.fill({});
}

void CallFunctionCache::fill(Entry& entry, int32_t pid, uint64_t tsc, uint64_t ip) {
  entry = {ip, functions_.place(pid, tsc, ip), nullptr, pid};
}

}  // namespace fathom::snapshot
