// Questions to a server's JSON face, timed over one kept connection, and the comparison of answers with what is
// expected.
//
// Thread safety: one thread per client. Units: the time of a call is from its first byte out to its last byte in;
// parsing and comparing are not part of it. Errors: an answer that is not 200, not JSON, or not equal, says what
// differs and which request it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/brute_force.h"
#include "bench/latencies.h"
#include "net/http_client.h"

namespace fathom::bench {

struct TimedReply {
  int status = 0;
  std::string body;
  uint64_t nano = 0;
};

struct SlowestPage {
  std::vector<std::string> rows;  // each as one line: what row_line() makes of an expected trace
  std::string next_cursor;        // empty on the last page
};

// The target of GET /api/v1/slowest for a question; `position` chooses which of a route's operations is asked for.
std::string slowest_target(const Question& question, size_t limit, const std::string& cursor, uint32_t position = 0);
// Everything that an answer says about a trace, in one line.
std::string row_line(const ExpectedTrace& trace);
Result<SlowestPage> parse_slowest(const std::string& body);
// Rows [first, first + page.rows.size()) of the expected answer, of which `limit` were asked for.
Result<> expect_rows(const SlowestPage& page, const std::vector<ExpectedTrace>& expected, size_t first, size_t limit);
Result<> expect_trace(const std::string& body, const Workload& workload, uint64_t index);

class QueryClient {
 public:
  explicit QueryClient(const std::string& address) : client_(address) {}
  Result<TimedReply> get(const std::string& target);
  // get(), which must be 200; its time goes to `latencies`.
  Result<std::string> timed(const std::string& target, Latencies& latencies);

 private:
  net::HttpClient client_;
};

}  // namespace fathom::bench
