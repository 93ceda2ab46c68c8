// Whatever the environment says of the resource: the records stay whole, no key is there twice.
#include <cstdlib>
#include <set>
#include <string>

#include "client/resource.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fathom::client::ResourceText text;
  text = {};
  text.put("service.name", "before");
  text.put_list({reinterpret_cast<const char*>(data), size});
  std::set<std::string_view> keys;
  std::string_view key, value;
  size_t at = 0;
  while (text.next(at, key, value)) {
    if (key.empty() || !keys.insert(key).second) std::abort();
  }
  if (at != text.bytes().size() || at > fathom::pool::kResourceBytes) std::abort();
  return 0;
}
