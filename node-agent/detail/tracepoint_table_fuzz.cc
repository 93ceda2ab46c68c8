// Any bytes as the table of a detail pool: whatever is found has sizes that add up, and can be looked up again.
//
// Input: the two copies of the table, one half each.
#include <cstdlib>

#include "node-agent/detail/tracepoint_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom::agent;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  TracepointTable one = TracepointTable::decode(input, input);
  TracepointTable two = TracepointTable::decode(input.substr(0, size / 2), input.substr(size / 2));
  for (const TracepointTable* table : {&one, &two}) {
    size_t texts = 0;
    for (const Tracepoint& tracepoint : table->all()) {
      texts += tracepoint.name.size() + tracepoint.file.size();
      if (table->find(tracepoint.kind) != &tracepoint) std::abort();
      table->fits(tracepoint.kind, input, false);
    }
    if (texts > size) std::abort();
  }
  return 0;
}
