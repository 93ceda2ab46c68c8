// Whatever comes as traceparent and tracestate: what goes out is valid, and reads as it was written.
#include <cstdlib>
#include <string>

#include "client/trace_context.h"

namespace {

using namespace fathom::client;  // NOLINT(google-build-using-namespace)

void require(bool condition) {
  if (!condition) std::abort();
}

void try_parent(std::string_view text) {
  fathom_context context = {}, again = {};
  if (!parse_parent(text, context)) return;
  char out[56];
  format_parent(context, out);
  require(parse_parent({out, 55}, again));
  require(std::string_view(reinterpret_cast<char*>(context.trace_id), 16) ==
          std::string_view(reinterpret_cast<char*>(again.trace_id), 16));
  require(context.flags == again.flags);
}

void try_state(std::string_view text) {
  char first[kMostStateBytes], second[kMostStateBytes], third[kMostStateBytes];
  const size_t size = parse_state(text, first);
  require(size <= kMostStateBytes);
  require(parse_state({first, size}, second) == size);
  require(std::string_view(first, size) == std::string_view(second, size));
  const size_t with = format_state({first, size}, "0123", second, text.size() % (kMostStateBytes + 1));
  require(with <= text.size() % (kMostStateBytes + 1));
  require(parse_state({second, with}, third) == with);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t line = text.find('\n');
  try_parent(text.substr(0, line));
  try_state(line == std::string_view::npos ? text : text.substr(line + 1));
  return 0;
}
