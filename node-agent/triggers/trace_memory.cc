#include "node-agent/triggers/trace_memory.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace fathom::agent {

namespace {

void add(std::vector<TraceMemory::Stay>& stays, uint32_t program, uint64_t start_nano, uint64_t end_nano) {
  auto known = std::find_if(stays.begin(), stays.end(), [&](const auto& stay) { return stay.program == program; });
  if (known == stays.end()) return stays.push_back({program, start_nano, end_nano});
  known->start_nano = std::min(known->start_nano, start_nano);
  known->end_nano = std::max(known->end_nano, end_nano);
}

}  // namespace

TraceMemory::TraceMemory(size_t places) : ring_(places), latest_(places) {
  assert(std::has_single_bit(places));
}

// Uses the second half, which is random even if the first half of the id is a time.
size_t TraceMemory::chain_of(const TraceId& trace_id) const {
  uint64_t half;
  std::memcpy(&half, trace_id.bytes.data() + sizeof half, sizeof half);
  return (half * 0x9e3779b97f4a7c15) >> 32 & (latest_.size() - 1);
}

void TraceMemory::note(const uint8_t (&trace_id)[16], uint32_t program, uint64_t start_nano, uint64_t end_nano) {
  Entry& last = entry(last_);
  if (last.program == program && std::memcmp(last.trace_id.bytes.data(), trace_id, sizeof trace_id) == 0) {
    last.start_nano = std::min(last.start_nano, start_nano);
    last.end_nano = std::max(last.end_nano, end_nano);
    return;
  }
  Entry& next = entry(++last_);
  std::memcpy(next.trace_id.bytes.data(), trace_id, sizeof trace_id);
  next.start_nano = start_nano;
  next.end_nano = end_nano;
  next.program = program;
  uint32_t& latest = latest_[chain_of(next.trace_id)];
  next.previous = latest;
  latest = last_;
}

// A chain ends at a link to an overwritten entry: the link's number is then not older than the number before it.
std::vector<TraceMemory::Stay> TraceMemory::find(const TraceId& trace_id, uint64_t now_nano) const {
  std::vector<Stay> stays;
  uint32_t number = latest_[chain_of(trace_id)];
  for (uint32_t age = last_ - number; age < ring_.size();) {
    const Entry& at = entry(number);
    if (at.program != 0 && at.trace_id == trace_id && at.end_nano + kKeepNano >= now_nano) {
      add(stays, at.program, at.start_nano, at.end_nano);
    }
    number = at.previous;
    const uint32_t older = last_ - number;
    if (older <= age) break;
    age = older;
  }
  std::reverse(stays.begin(), stays.end());
  return stays;
}

}  // namespace fathom::agent
