#include "node-agent/triggers/trace_memory.h"

namespace fathom::agent {

namespace {

void add(std::vector<TraceMemory::Stay>& stays, uint32_t program, uint64_t start_nano, uint64_t end_nano) {
  auto known = std::find_if(stays.begin(), stays.end(), [&](const auto& stay) { return stay.program == program; });
  if (known == stays.end()) return stays.push_back({program, start_nano, end_nano});
  known->start_nano = std::min(known->start_nano, start_nano);
  known->end_nano = std::max(known->end_nano, end_nano);
}

}  // namespace

std::vector<TraceMemory::Stay> TraceMemory::find(const TraceId& trace_id, uint64_t now_nano) const {
  std::vector<Stay> stays;
  for (const Entry& entry : ring_) {
    if (entry.program == 0 || entry.trace_id != trace_id || entry.end_nano + kKeepNano < now_nano) continue;
    add(stays, entry.program, entry.start_nano, entry.end_nano);
  }
  return stays;
}

}  // namespace fathom::agent
