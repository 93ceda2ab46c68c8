// A host under measurement: a real fathom-agent with a socket of its own, and programs that number their spans.
//
// Purpose: what the agent costs, and what becomes of spans. The agent has no supervisor here, because it is not to die.
// Thread safety: one thread. Ownership: everything dies with its object. Errors: kUnavailable, with the log's path.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/child_process.h"
#include "client/programs/span_page.h"

namespace fathom::bench {

class TracedNode {
 public:
  // `collector`: HOST:PORT that takes agents. `arguments`: of the agent, besides.
  static Result<std::unique_ptr<TracedNode>> start(const std::string& work_directory, const std::string& collector,
                                                   const std::vector<std::string>& arguments = {});
  ~TracedNode();

  ChildProcess& agent() { return agent_; }
  const std::string& directory() const { return directory_; }
  const std::string& socket() const { return socket_; }

 private:
  TracedNode() = default;
  std::string directory_, socket_;
  ChildProcess agent_;
};

struct WriterOptions {
  uint32_t program = 0;
  uint32_t threads = 1;
  uint64_t rate = 0;   // spans per second and thread; 0: as fast as it goes
  uint64_t spans = 0;  // of each thread; then it waits until the agent has them, and ends. 0: for ever
  uint32_t pool_mib = 8;
};

// One such program (client/programs/span_writer.cc).
class SpanWriter {
 public:
  static Result<std::unique_ptr<SpanWriter>> start(const TracedNode& node, const WriterOptions& options);
  ~SpanWriter();

  const WriterOptions& options() const { return options_; }
  const client::SpanPage& page() const { return *page_; }
  bool ready() const { return page_->ready.load() == options_.threads; }
  uint64_t finished(uint32_t thread = 0) const { return page_->slots[thread].finished.load(); }
  uint64_t finished_by_all() const;
  uint64_t lost() const;
  void kill();
  int wait();  // for its own end: the exit status

 private:
  SpanWriter() = default;
  WriterOptions options_;
  client::SpanPage* page_ = nullptr;
  pid_t pid_ = -1;
};

// The trace that a program's span belongs to, in hexadecimal.
std::string trace_of(uint32_t program, uint32_t thread, uint64_t number);
inline constexpr uint64_t kSpansPerTrace = 128;

}  // namespace fathom::bench
