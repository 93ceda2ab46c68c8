#include "cli/pages.h"

#include <algorithm>

namespace fathom::cli {

namespace {

constexpr uint64_t kPageRows = 200;

}  // namespace

Result<boost::json::array> fetch_pages(const Api& api, const Target& target, const std::string& list, uint64_t limit) {
  boost::json::array all;
  std::string cursor;
  while (all.size() < limit) {
    Target page = target;
    page.add("limit", std::to_string(std::min(limit - all.size(), kPageRows)));
    if (!cursor.empty()) page.add("cursor", cursor);
    Result<boost::json::value> answer = api.json(page);
    if (!answer) return answer.error();
    const boost::json::array& rows = array_of(*answer, list);
    all.insert(all.end(), rows.begin(), rows.end());
    cursor = text_of(*answer, "next_cursor");
    if (cursor.empty() || rows.empty()) break;
  }
  if (all.size() > limit) all.resize(limit);
  return all;
}

}  // namespace fathom::cli
