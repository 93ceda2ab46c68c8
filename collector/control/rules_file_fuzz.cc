// Any bytes as the file of the rules of tracepoints, and as the message in one: what is read can be written and read
// again, and keeps to the bounds of rules.
#include <cstdint>
#include <cstdlib>

#include "collector/control/rules_file.h"
#include "ingest/limits.h"

namespace {

using namespace fathom;
using namespace fathom::collector;

void check(bool holds) {
  if (!holds) std::abort();
}

void read(std::string_view content) {
  Result<TracepointRules> rules = decode_rules(content);
  if (!rules) return;
  check(rules->all().size() <= ingest::kMostRules);
  Result<TracepointRules> again = decode_rules(encode_rules(*rules));
  check(again && again->all() == rules->all());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  read(with_rules_head(bytes));
  return 0;
}
