#include "query/trait.h"

namespace fathom::query {

std::string_view trait_of_name(TraitOf of) {
  switch (of) {
    case TraitOf::kOperation:
      return "operation";
    case TraitOf::kService:
      return "service";
    case TraitOf::kStatus:
      return "status";
    case TraitOf::kAttribute:
      return "attribute";
    case TraitOf::kResource:
      return "resource";
    case TraitOf::kError:
      return "error";
    case TraitOf::kCalls:
      return "calls";
    case TraitOf::kSelfTime:
      return "self_time";
  }
  return "";
}

std::string_view trait_is_name(TraitIs is) {
  switch (is) {
    case TraitIs::kEqual:
      return "=";
    case TraitIs::kAtLeast:
      return ">=";
    case TraitIs::kAtMost:
      return "<=";
    case TraitIs::kOneOf:
      return "in";
  }
  return "";
}

}  // namespace fathom::query
