// The addresses of the JSON face: each turns a request into work for the runner, or into an error that names the cure.
//
// Thread safety: plain functions; the work runs on any thread. Ownership: the work refers to the stores, which outlive
// it, and to nothing of the request.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http_server.h"
#include "query/answer_bytes.h"
#include "query/stores.h"
#include "query/trace_text.h"

namespace fathom::query {

// On whose threads a query runs: what waits for disks and children must not keep questions about spans waiting.
enum class Lane : uint8_t { kQueries, kTransfers, kWorkers, kViews };

struct RoutedQuery {
  std::string_view name;                                                        // a literal: the label in metrics
  uint64_t timeout_nano = 0;                                                    // 0: the default
  std::string_view content_type = "application/json";                           // a literal
  std::function<Result<std::string>(const Stores&, store::QueryBudget&)> work;  // the body of the answer
  Lane lane = Lane::kQueries;
  bool marks_losses = false;  // `work` itself marks an answer that may miss lost batches
  // Instead of `work`, for an answer that is written piece by piece.
  std::function<Result<std::unique_ptr<TraceText>>(const Stores&, store::QueryBudget&)> open_text = nullptr;
};

// The tail that all work shares: what came of it as JSON, charged before it is written.
template <typename Answer>
Result<std::string> written_answer(Result<Answer> answer, store::QueryBudget& budget) {
  if (!answer) return answer.error();
  if (auto paid = budget.spend(json_bytes(*answer)); !paid) return paid.error();
  return to_json(*answer);
}

// kNotFound: no such address; kInvalid: parameters.
Result<RoutedQuery> route(const net::HttpRequest& request, uint64_t now_unix_nano, uint64_t max_timeout_nano);

}  // namespace fathom::query
