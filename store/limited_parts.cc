#include "store/limited_parts.h"

namespace fathom::store {

Counter& limited_parts(std::string_view limit) {
  return counter("fathom_limited_total", "Parts of spans that a limit dropped or cut", label("limit", limit));
}

}  // namespace fathom::store
