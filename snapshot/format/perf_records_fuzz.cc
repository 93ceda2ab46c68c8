// Any bytes as records of perf, under any layout: rows or refusals, and rows that stay inside the address space.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "snapshot/format/perf_records.h"

namespace {

using namespace fathom::snapshot;

void one_record(std::string_view bytes, const PerfLayout& layout) {
  const Timing timing{.conversion_zero_nano = 1, .conversion_mult = 3, .conversion_shift = 63};
  auto record = parse_perf_record(bytes, layout);
  if (!record) return;
  (void)parse_perf_aux(*record);
  auto made = to_sideband(*record, timing);
  if (!made || !*made) return;
  const Sideband& row = (*made)->row;
  if (row.kind == SidebandKind::kMap && row.length > UINT64_MAX - row.address) std::abort();
  if (row.text.size() + row.other_text.size() > bytes.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  PerfLayout layout;
  if (size < 9) return 0;
  std::memcpy(&layout.sample_type, data, 8);
  layout.sample_id_all = data[8] & 1;
  std::string_view rest(reinterpret_cast<const char*>(data) + 9, size - 9);
  while (true) {
    auto record = split_perf_record(rest);
    if (!record || !*record) return 0;
    one_record(**record, layout);
    rest.remove_prefix((*record)->size());
  }
}
