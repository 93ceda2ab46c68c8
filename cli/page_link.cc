#include "cli/page_link.h"

#include "base/time.h"

namespace fathom::cli {

namespace {

constexpr uint64_t kLocalPatienceNano = 5 * kNanosPerSecond;

}  // namespace

Result<std::string> page_link(const Api& api, const std::string& url) {
  Result<boost::json::value> answer = api.post(Target("/api/v1/page-links"), "{}");
  if (!answer) return answer.error();
  const std::string code = text_of(*answer, "code");
  const std::string page = url.ends_with('/') ? url : url + "/";
  return code.empty() ? page : page + "#login=" + code;
}

std::string local_page_link(const Context& context, const std::string& url, const std::string& token_file) {
  const HttpPost post = context.connect_post(url, kLocalPatienceNano, {.token_file = token_file});
  const Result<std::string> link = page_link(Api(nullptr, std::nullopt, post), url);
  return link ? *link : url;
}

}  // namespace fathom::cli
