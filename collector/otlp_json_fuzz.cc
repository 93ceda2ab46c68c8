// Any bytes as an OTLP request in JSON: no fault in memory, an account that adds up, the same answer every time.
#include <cstdint>
#include <cstdlib>

#include "collector/otlp/decoded.h"
#include "collector/testing/redaction_check.h"

namespace {

using fathom::Result;
using fathom::collector::Decoded;
namespace store = fathom::store;

Result<Decoded> decode(std::string_view body, const store::BatchLimits& limits) {
  return fathom::collector::decode_json(body, limits, [](uint64_t) { return Result<>(); });
}

void require(bool holds) {
  if (!holds) std::abort();
}

uint64_t stored_spans(const Decoded& decoded) {
  uint64_t spans = 0;
  for (const store::BatchPtr& batch : decoded.batches) {
    store::Batch::Scratch scratch;
    for (const store::Batch::Row& row : batch->rows()) require(!batch->span(row, scratch).trace_id.is_zero());
    spans += batch->rows().size();
  }
  return spans;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view body(reinterpret_cast<const char*>(data), size);
  store::BatchLimits tight{.attributes_per_span = 2,
                           .bytes_per_value = 8,
                           .bytes_per_name = 4,
                           .events_per_span = 1,
                           .links_per_span = 1,
                           .spans_per_batch = 2,
                           .bytes_per_batch = 256};
  Result<Decoded> limited = decode(body, tight);
  Result<Decoded> whole = decode(body, {});
  // What a limit drops is checked for its syntax only, so tighter limits may take more requests, never fewer.
  require(limited.ok() || !whole.ok());
  // Rules keep no request from being taken: values that they replace are checked for their syntax only.
  const Result<Decoded> redacted = fathom::collector::decode_json(
      body, {}, [](uint64_t) { return Result<>(); }, &fathom::collector::testing::no_digits());
  require(redacted.ok() || !whole.ok());
  require(!redacted.ok() || !fathom::collector::testing::has_digits(*redacted));
  if (!whole.ok()) return 0;
  require(stored_spans(*whole) == whole->accepted_spans);
  require(stored_spans(*limited) == whole->accepted_spans);
  require(limited->rejected_spans == whole->rejected_spans);
  return 0;
}
