// CaptureRequester: a request of a collector, until all of its captures are made.
//
// Thread safety: none, belongs to the agent's loop; jobs carry it through other threads.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "node-agent/control.h"

namespace fathom::agent {

struct CaptureRequester {
  CaptureAnswer answer;
  std::function<void(CaptureAnswer)> respond;
  size_t pending = 0;

  void skip(std::string_view why) {
    if (!answer.skipped.empty()) answer.skipped += "; ";
    answer.skipped += why;
  }
  void respond_when_all_are_made() {
    if (pending == 0 && respond) std::exchange(respond, nullptr)(std::move(answer));
  }
};

}  // namespace fathom::agent
