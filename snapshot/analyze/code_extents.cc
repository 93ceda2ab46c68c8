#include "snapshot/analyze/code_extents.h"

#include <string_view>

namespace fathom::snapshot {

CodeExtent SymbolExtents::find(int32_t pid, uint64_t tsc, uint64_t ip) const {
  const CodePlace place = names_.find(pid, tsc, ip);
  CodeExtent extent{place.begin, place.end, place.function != nullptr, false, place.image};
  if (place.function == nullptr) return extent;
  extent.identity = place.function;
  extent.stub = place.function->name.ends_with("@plt");
  return extent;
}

std::string function_name(const CodeNames& names, const CallFunction& function) {
  if (function.gap != GapReason::kNone) return "[gap: " + std::string(gap_reason_name(function.gap)) + "]";
  const uint64_t at = function.symbol || function.entry == 0 ? function.begin : function.entry;
  const CodePlace place = names.find(function.pid, function.tsc, at);
  if (function.symbol || function.entry != 0) return place_name(place, at);
  if (place.image == nullptr) return "[unknown]";
  const std::string_view name = place.image->name;
  const std::string file(name.substr(name.rfind('/') + 1));
  return file.starts_with('[') ? file : "[" + file + "]";
}

}  // namespace fathom::snapshot
