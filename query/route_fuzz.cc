// Addresses of any bytes through the JSON face: a named error, or work that ends with an answer or an error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "net/uri.h"
#include "query/routes.h"
#include "store/model/memory_captures.h"
#include "store/model/memory_store.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom;
  static store::MemoryStore& spans = *new store::MemoryStore;
  static store::MemoryCaptures& captures = *new store::MemoryCaptures;
  constexpr uint64_t kNow = 1'795'221'000'000'000'000;
  auto target = net::parse_target({reinterpret_cast<const char*>(data), size});
  if (!target.ok()) return 0;
  net::HttpRequest request;
  request.path = target->path;
  request.query = target->query;
  auto routed = query::route(request, kNow, 60 * kNanosPerSecond);
  if (!routed.ok()) {
    if (routed.error().message.empty()) std::abort();
    return 0;
  }
  store::QueryBudget budget;
  if (routed->open_text) {
    auto text = routed->open_text({spans, &captures}, budget);
    if (text.ok() ? (*text)->next(1).empty() : text.error().message.empty()) std::abort();
    return 0;
  }
  auto answer = routed->work({spans, &captures}, budget);
  if (answer.ok() ? answer->empty() : answer.error().message.empty()) std::abort();
  return 0;
}
