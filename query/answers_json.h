// The JSON of every answer but a trace's (trace_json.cc); docs/api.md describes them.
//
// Thread safety: plain functions.
#pragma once

#include <string>
#include <vector>

#include "net/json_writer.h"
#include "query/attribute_values.h"
#include "query/lost_batches.h"
#include "query/queries.h"

namespace fathom::query {

std::string to_json(const SlowestAnswer& answer);
std::string to_json(const ServicesAnswer& answer);
std::string to_json(const OperationsAnswer& answer);
std::string to_json(const LatencyAnswer& answer);
std::string keys_json(const std::vector<std::string>& keys);
std::string values_json(const std::string& key, const ValuesAnswer& answer);
// Members p50_nano to max_nano of the object at hand.
void write_percentiles(net::JsonWriter& json, const store::Histogram& durations);
std::string status_json(const std::string& version, bool ready, const store::StoreStats& stats,
                        const std::optional<LostBatches>& lost);

}  // namespace fathom::query
