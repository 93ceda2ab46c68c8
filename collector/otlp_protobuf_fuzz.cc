// Any bytes as an OTLP request in protobuf: no fault in memory, and no disagreement with protobuf itself.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "collector/testing/differential.h"
#include "collector/testing/redaction_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom;
  std::string_view body(reinterpret_cast<const char*>(data), size);
  // Once with limits that bite, once as in earnest.
  store::BatchLimits tight{.attributes_per_span = 2,
                           .bytes_per_value = 8,
                           .bytes_per_name = 4,
                           .events_per_span = 1,
                           .links_per_span = 1,
                           .spans_per_batch = 2,
                           .bytes_per_batch = 256};
  (void)collector::decode_protobuf(body, tight, [](uint64_t) { return Result<>(); });
  const auto redacted = collector::decode_protobuf(
      body, {}, [](uint64_t) { return Result<>(); }, {}, &collector::testing::no_digits());
  if (redacted.ok() && collector::testing::has_digits(*redacted)) std::abort();
  std::string difference = collector::testing::compare_with_protobuf(body);
  if (difference.empty()) return 0;
  std::fprintf(stderr, "%s\n", difference.c_str());
  std::abort();
}
