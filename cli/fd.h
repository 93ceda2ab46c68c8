// The words of base/fd.h, as cli/ has always called them.
#pragma once

#include "base/fd.h"

namespace fathom::cli {

using fathom::Fd;
using fathom::make_pipe;
using fathom::Pipe;
using fathom::system_error;

}  // namespace fathom::cli
