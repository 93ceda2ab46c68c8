// Request targets of any bytes: either an error, or a path and parameters that stay the same when written out and read
// again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "net/http_client.h"
#include "net/uri.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom::net;
  auto target = parse_target({reinterpret_cast<const char*>(data), size});
  if (!target.ok() || target->path == "*") return 0;
  std::string again = "/" + percent_encode(target->path) + "?";
  for (const auto& [key, value] : target->query) again += percent_encode(key) + "=" + percent_encode(value) + "&";
  auto reread = parse_target(again);
  if (!reread.ok() || reread->path != "/" + target->path || reread->query != target->query) std::abort();
  return 0;
}
