// Everything that a capture says, as lines of text: what golden files are compared by.
#pragma once

#include <string>

#include "capture/capture.h"

namespace fathom::capture::testing {

std::string describe(const Capture& capture);

}  // namespace fathom::capture::testing
