// What a span says of itself, as traits.
//
// Thread safety: plain functions.
#pragma once

#include <span>
#include <string>

#include "query/trait_tally.h"
#include "store/span.h"

namespace fathom::query {

// Which spans it is compared with: those of its operation.
std::string like_of(const store::StoredSpan& stored);

// Add to the member that was begun. `service` is empty where the member is the span itself.
void tally_span(const store::StoredSpan& stored, TraitTally& tally);
void tally_attributes(TraitOf of, std::string_view service, std::span<const store::AttributeView> attributes,
                      TraitTally& tally);

}  // namespace fathom::query
