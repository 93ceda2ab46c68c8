#include "query/captures.h"

#include <algorithm>

#include "base/sha256.h"
#include "capture/decode.h"
#include "query/capture_cursor.h"

namespace fathom::query {

namespace {

constexpr size_t kPieceBytes = 1 << 20;
constexpr capture::DecodeLimits kDecodeLimits{.most_bytes = 256 << 20, .most_memory_bytes = 512 << 20};

Error no_capture(const store::CaptureId& id) {
  return not_found("no capture " + id.hex() + " is stored; the oldest are dropped beyond the budget of captures");
}

Result<std::string> read_all(store::CaptureStore& store, const store::CaptureInfo& info, store::QueryBudget& budget) {
  std::string content;
  while (content.size() < info.size_bytes) {
    size_t piece = static_cast<size_t>(std::min<uint64_t>(kPieceBytes, info.size_bytes - content.size()));
    if (auto paid = budget.spend(piece); !paid) return paid.error();
    auto read = store.read(info.id, content.size(), piece);
    if (!read) return read;
    if (read->empty()) return corrupt("the content of capture " + info.id.hex() + " ends too early");
    content += *read;
  }
  if (sha256(content) == info.sha256) return content;
  return corrupt("the content of capture " + info.id.hex() + " is not what was stored");
}

capture::DecodeLimits limits_within(const store::QueryBudget& budget, uint64_t most_bytes) {
  capture::DecodeLimits limits = kDecodeLimits;
  limits.most_memory_bytes = std::min({limits.most_memory_bytes, budget.left_bytes(), most_bytes});
  return limits;
}

}  // namespace

Result<CapturesAnswer> run_captures(const Stores& stores, CapturesQuery query, store::QueryBudget& budget) {
  const uint64_t hash = query_hash(query);
  std::optional<store::CaptureCursor> cursor;
  if (!query.cursor.empty()) {
    auto position = decode_capture_cursor(query.cursor, hash);
    if (!position) return position.error();
    query.filter.range = position->range;
    cursor = position->cursor;
  }
  if (stores.captures == nullptr) return CapturesAnswer{};
  auto page = stores.captures->find(query.filter, query.limit, cursor, budget);
  if (!page) return page.error();
  CapturesAnswer answer{.rows = std::move(page->rows)};
  if (page->next) answer.next_cursor = encode_capture_cursor({query.filter.range, *page->next}, hash);
  return answer;
}

Result<std::vector<store::StoredCapture>> captures_of(const Stores& stores, const TraceId& trace_id,
                                                      store::QueryBudget& budget) {
  if (stores.captures == nullptr) return std::vector<store::StoredCapture>();
  return stores.captures->of_trace(trace_id, budget);
}

Result<store::StoredCapture> find_capture(const Stores& stores, const store::CaptureId& id) {
  if (stores.captures == nullptr) return no_capture(id);
  auto found = stores.captures->info(id);
  if (!found && found.error().code == ErrorCode::kNotFound) return no_capture(id);
  return found;
}

Result<std::string> run_content(const Stores& stores, const store::CaptureId& id, store::QueryBudget& budget) {
  auto found = find_capture(stores, id);
  if (!found) return found.error();
  return read_all(*stores.captures, found->info, budget);
}

Result<capture::Capture> decoded_content(const Stores& stores, const store::StoredCapture& stored,
                                         store::QueryBudget& budget, uint64_t most_bytes) {
  if (stores.captures == nullptr) return no_capture(stored.info.id);
  auto content = read_all(*stores.captures, stored.info, budget);
  if (!content) return content.error();
  const capture::DecodeLimits limits = limits_within(budget, most_bytes);
  uint64_t taken = 0;
  auto decoded = capture::decode(*content, limits, &taken);
  // One that needs more than its limit is a capture's fault; one that needs more than is left ends the query.
  bool too_much = !decoded && decoded.error().code == ErrorCode::kExhausted;
  const uint64_t limit = std::min(kDecodeLimits.most_memory_bytes, most_bytes);
  if (too_much && limits.most_memory_bytes < limit) taken = limits.most_memory_bytes + 1;
  if (auto paid = budget.spend(taken); !paid) return paid.error();
  return decoded;
}

}  // namespace fathom::query
