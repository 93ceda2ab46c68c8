#include "store/span_store.h"

#include <algorithm>
#include <tuple>

namespace fathom::store {

bool slower(const SortKey& a, const SortKey& b) {
  if (a.duration_nano != b.duration_nano) return a.duration_nano > b.duration_nano;
  return std::tie(a.start_unix_nano, a.trace_id, a.span_id) < std::tie(b.start_unix_nano, b.trace_id, b.span_id);
}

bool contains_folded(std::string_view text, std::string_view part) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::search(text, part, {}, lower, lower).begin() != text.end() || part.empty();
}

}  // namespace fathom::store
