// Where the recording lies that packets are counted of: it is not in the repository, but beside it.
//
// Thread safety: reads the environment. Errors: kNotFound, with every place that was looked at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::bench {

struct DataPlaces {
  std::string given;                       // by a flag: then there and nowhere else
  std::optional<std::string> perf_data;    // $FATHOM_PERF_DATA, a file
  std::optional<std::string> shared_data;  // $FATHOM_SHARED_DATA, a directory
  std::string program;                     // beside each directory above it, shared/data
};
DataPlaces data_places(const std::string& given);

// perf.data.intel_pt-4.14 of google/perf_data_converter.
Result<std::string> find_perf_data(const DataPlaces& places);

}  // namespace fathom::bench
