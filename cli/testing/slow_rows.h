// Answers of /api/v1/slowest as a server writes them, for tests of commands. Thread safety: plain functions.
#pragma once

#include <cstdint>
#include <string>

namespace fathom::cli {

inline constexpr const char* kTraceId = "4bf92f3577b34da6a3ce929d0e0e4736";

inline std::string row(int64_t duration_ms, const std::string& operation = "GET /x") {
  return R"({"trace_id":")" + std::string(kTraceId) +
         R"(","span_id":"00f067aa0ba902b7","service":"shop","operation":")" + operation +
         R"(","start_time_unix_nano":"1795226400000000001","duration_nano":)" +
         std::to_string(duration_ms * 1'000'000) +
         R"(,"root_duration_nano":5,"complete":true,"error":false,"spans":8})";
}

inline std::string row_with(int duration_ms, int captures, int snapshots) {
  std::string text = row(duration_ms);
  text.pop_back();
  return text + R"(,"captures":)" + std::to_string(captures) + R"(,"snapshots":)" + std::to_string(snapshots) + "}";
}

inline std::string page(const std::string& rows, const std::string& cursor = "") {
  return R"({"rows":[)" + rows + "]" + (cursor.empty() ? "" : R"(,"next_cursor":")" + cursor + "\"") + "}";
}

}  // namespace fathom::cli
