// What the parts of a perf.data's header hold, and AUXTRACE_INFO: as far as a snapshot has use for them.
//
// Thread safety: pure functions. Ownership: IntelPtFields refers to the payload. Hostile input: sizes and counts are
// bounded; what is damaged is empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "snapshot/format/snapshot.h"
#include "snapshot/import/perf_layout.h"

namespace fathom::snapshot::perf {

// A string of the header: its length in the file, then up to its NUL.
std::string header_string(ByteReader& in);
// A list of them, as a person would type it.
std::string joined_words(std::string_view content);
// "GenuineIntel,6,78,3".
Cpu cpu_of(std::string_view content);

// What AUXTRACE_INFO says of Intel PT; of older versions of perf it has less.
class IntelPtFields {
 public:
  explicit IntelPtFields(std::string_view payload) {
    ByteReader in(payload);
    type_ = in.u32();
    in.u32();
    while (in.remaining() >= 8 && values_.size() <= kFilterBytes) values_.push_back(in.u64());
    rest_ = in.raw(in.remaining());
  }
  uint32_t type() const { return type_; }
  uint64_t get(IntelPtInfo field) const { return field < values_.size() ? values_[field] : 0; }
  // Nothing when it is damaged.
  std::optional<std::string_view> filters() const {
    const uint64_t bytes = get(kFilterBytes);
    return bytes > rest_.size() ? std::nullopt : std::optional(rest_.substr(0, bytes));
  }

 private:
  uint32_t type_ = 0;
  std::vector<uint64_t> values_;
  std::string_view rest_;  // the text of address filters, and what later versions of perf put behind it
};

}  // namespace fathom::snapshot::perf
