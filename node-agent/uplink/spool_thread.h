// SpoolPort: the spool as the agent's loop sees it: every call returns at once, answers come later on the loop.
//
// Purpose: a disk may stall for seconds, and the loop must not. SpoolThread is the real one: a thread of its own, calls
// done in order. Thread safety: calls and answers on the loop's thread. Ownership: the destructor waits for calls under
// way and drops their answers. Errors: open() says what is wrong with the directory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "base/result.h"
#include "node-agent/uplink/spool.h"

namespace fathom::agent {

class SpoolPort {
 public:
  struct Figures {
    uint64_t bytes = 0;
    uint64_t damaged_spans = 0;
  };

  virtual ~SpoolPort() = default;
  // `done` gets the entry's id, or why there is none; `otlp` is kept until then.
  virtual void append(SpoolHead head, std::shared_ptr<const std::string> otlp, bool taken,
                      std::function<void(Result<uint64_t>)> done) = 0;
  virtual void take_next(std::function<void(Result<std::optional<SpooledBatch>>)> done) = 0;
  virtual void release(uint64_t id) = 0;
  virtual void remove(uint64_t id) = 0;
  virtual void tend() = 0;
  virtual void set_limit(uint64_t bytes) = 0;
  virtual Figures figures() const = 0;  // as of the last answer
};

// Opens the spool on the calling thread. The answers are posted to `loop`, which must outlive the port.
Result<std::unique_ptr<SpoolPort>> open_spool(boost::asio::io_context& loop, SpoolOptions options);

}  // namespace fathom::agent
