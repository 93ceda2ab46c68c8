// How many bytes the JSON of an answer may have, so that it is charged before it is written.
//
// Thread safety: plain functions. Units: bytes; upper bounds, for each byte of a text may be written as six.
#pragma once

#include <cstdint>
#include <string_view>

#include "query/differences.h"
#include "query/graph.h"
#include "query/heatmap.h"
#include "query/queries.h"

namespace fathom::query {

inline constexpr uint64_t kJsonObjectBytes = 768;  // keys and numbers of a row

// A text with what stands around it.
inline uint64_t json_text_bytes(std::string_view text) {
  return 6 * text.size() + 64;
}

uint64_t json_bytes(const SlowestAnswer& answer);
uint64_t json_bytes(const ServicesAnswer& answer);
uint64_t json_bytes(const OperationsAnswer& answer);
uint64_t json_bytes(const LatencyAnswer& answer);
uint64_t json_bytes(const HeatmapAnswer& answer);
uint64_t json_bytes(const DifferencesAnswer& answer);
uint64_t json_bytes(const GraphAnswer& answer);

}  // namespace fathom::query
