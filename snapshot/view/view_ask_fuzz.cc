// Lines of any bytes: an ask within its bounds, or an error that says what is wrong.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "snapshot/view/view_ask.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using fathom::snapshot::ViewAsk;
  const auto ask = fathom::snapshot::parse_view_ask({reinterpret_cast<const char*>(data), size});
  if (!ask) {
    if (ask.error().message.empty()) std::abort();
    return 0;
  }
  const bool bounded = ask->columns >= 1 && ask->columns <= ViewAsk::kMostColumns && ask->count >= 1 &&
                       ask->count <= ViewAsk::kMostRows && ask->depths >= 1 && ask->depths <= ViewAsk::kMostDepths &&
                       ask->text.size() <= ViewAsk::kMostTextBytes && ask->function.size() <= ViewAsk::kMostTextBytes;
  for (const auto& offset : {ask->from, ask->to, ask->at}) {
    if (offset && (*offset > ViewAsk::kMostOffset || *offset < -ViewAsk::kMostOffset)) std::abort();
  }
  if (!bounded) std::abort();
  return 0;
}
