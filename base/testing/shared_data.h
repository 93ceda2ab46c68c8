// Where the recording of real hardware lies that importers are measured with and tested by: it is not in the
// repository, but beside it.
//
// Thread safety: reads the environment. Errors: kNotFound, with every place that was looked at. tests/harness has the
// same places for tests in Python.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom {

struct DataPlaces {
  std::string given;                       // by a flag: then there and nowhere else
  std::optional<std::string> perf_data;    // $FATHOM_PERF_DATA, a file
  std::optional<std::string> shared_data;  // $FATHOM_SHARED_DATA, a directory
  std::string program;                     // beside each directory above it, shared/data
};
DataPlaces data_places(const std::string& given = "");

// perf.data.intel_pt-4.14 of google/perf_data_converter.
Result<std::string> find_perf_data(const DataPlaces& places);

}  // namespace fathom
