#include "store/span_store.h"

#include <tuple>

#include "base/time.h"

namespace fathom::store {

bool slower(const SortKey& a, const SortKey& b) {
  if (a.duration_nano != b.duration_nano) return a.duration_nano > b.duration_nano;
  return std::tie(a.start_unix_nano, a.trace_id, a.span_id) < std::tie(b.start_unix_nano, b.trace_id, b.span_id);
}

bool contains_folded(std::string_view text, std::string_view part) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::search(text, part, {}, lower, lower).begin() != text.end() || part.empty();
}

Result<> QueryBudget::spend(uint64_t bytes) {
  if (cancelled_.load(std::memory_order_relaxed)) return Error{ErrorCode::kCancelled, "the query was cancelled"};
  if (spent_.fetch_add(bytes, std::memory_order_relaxed) + bytes > bytes_) {
    return exhausted("the query would read more than its byte budget; narrow its time range or its conditions");
  }
  if (deadline_ != UINT64_MAX && now_monotonic_nano() > deadline_) {
    return Error{ErrorCode::kDeadline, "the query passed its deadline; narrow its time range or allow more time"};
  }
  return {};
}

}  // namespace fathom::store
