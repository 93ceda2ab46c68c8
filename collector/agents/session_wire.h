// Where a session's answers go.
//
// Thread safety: all of it; after end() nothing more is sent. Ownership: sessions hold it weakly.
#pragma once

#include <string>

#include "collector/agents/stream_end.h"

namespace fathom::collector {

class SessionWire {
 public:
  virtual ~SessionWire() = default;
  // False when the peer reads too little for too long.
  virtual bool send(std::string message) = 0;
  virtual void end(StreamEnd end, const std::string& message) = 0;
};

}  // namespace fathom::collector
