#include "cli/pages.h"

#include <algorithm>
#include <iterator>

namespace fathom::cli {

namespace {

constexpr uint64_t kPageRows = 200;

// Where rows are left out, more than are missing: a page of a row each would be a question each.
uint64_t rows_of_page(uint64_t missing, const IsWanted& is_wanted) {
  return is_wanted ? kPageRows : std::min(missing, kPageRows);
}

}  // namespace

Result<boost::json::array> fetch_pages(const Api& api, const Target& target, const std::string& list, uint64_t limit,
                                       const IsWanted& is_wanted) {
  boost::json::array all;
  std::string cursor;
  while (all.size() < limit) {
    Target page = target;
    page.add("limit", std::to_string(rows_of_page(limit - all.size(), is_wanted)));
    if (!cursor.empty()) page.add("cursor", cursor);
    Result<boost::json::value> answer = api.json(page);
    if (!answer) return answer.error();
    const boost::json::array& rows = array_of(*answer, list);
    std::ranges::copy_if(rows, std::back_inserter(all),
                         [&](const boost::json::value& row) { return !is_wanted || is_wanted(row); });
    cursor = text_of(*answer, "next_cursor");
    if (cursor.empty() || rows.empty()) break;
  }
  if (all.size() > limit) all.resize(limit);
  return all;
}

}  // namespace fathom::cli
