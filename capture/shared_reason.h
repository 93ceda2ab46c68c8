// The reason of a capture whose content several requests may share.
//
// Purpose: the content names the request for which it was made. Other requests may share it, and their captures must
// not show that name. Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace fathom::capture {

// "GET /cart took 812 ms, one of the slowest within 60 s"
inline constexpr std::string_view kAmongSlowest = ", one of the slowest within ";

// `reason`: of the content; `operation`: of this capture, empty if it is not known.
inline std::string reason_of(std::string_view reason, std::string_view operation) {
  const size_t at = reason.find(kAmongSlowest);
  if (at == std::string_view::npos || operation.empty()) return std::string(reason);
  return std::string(operation).append(reason.substr(at));
}

}  // namespace fathom::capture
