// The spans of this process, as tests of traced calls look at them.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "client/testing/pool_reader.h"

namespace fathom::grpc::testing {

using client::testing::ReadSpan;

inline constexpr uint8_t kInternal = 1;
inline constexpr uint8_t kServer = 2;
inline constexpr uint8_t kClient = 3;
inline constexpr uint8_t kError = 2;
inline constexpr uint8_t kRemoteParent = 0x80;

// Waits until `count` more spans have ended, since a client has its answer before the server is quite done; then takes
// them.
std::vector<ReadSpan> take_spans(size_t count);

// The one with this name and kind; a failure of the test when there is another number of them.
const ReadSpan& only(const std::vector<ReadSpan>& spans, const std::string& name, uint8_t kind);

bool has_event(const ReadSpan& span, const std::string& name);

}  // namespace fathom::grpc::testing
