// Rows of captures from bytes that nobody vouches for: what decodes satisfies check(), and comes back.
//
// Input: 20 bytes of key, then the value.
#include <algorithm>
#include <cstdlib>

#include "store/captures/capture_row.h"

namespace fathom::store {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void run(std::string_view key, std::string_view value) {
  require(capture_keys::id_of(key).view().size() == 16);
  capture_keys::hash_of(value);
  capture_keys::instant_of(value);
  Result<uint64_t> size = decode_content_size(value);
  if (size.ok()) require(decode_content_size(encode_content_size(*size)).value() == *size);
  Result<CaptureInfo> info = decode_capture(key, value);
  if (!info.ok()) return;
  require(check(*info).ok());
  require(info->losses.size() <= kMostCaptureLosses);
  Result<CaptureInfo> again = decode_capture(capture_keys::capture(info->id), encode_capture(*info));
  require(again.ok() && *again == *info);
}

}  // namespace
}  // namespace fathom::store

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  size_t split = std::min<size_t>(20, size);
  fathom::store::run(input.substr(0, split), input.substr(split));
  return 0;
}
