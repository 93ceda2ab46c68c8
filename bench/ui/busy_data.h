// A data directory of a busy system: spans of busy-v1 (bench/workloads.md) and one trace that is much larger, made once
// and kept, because making it takes a minute or more.
//
// Thread safety: one thread. Ownership: the directory stays; a server that was started on it is the caller's. Units:
// Unix nanoseconds. Errors: why it could not be made; what cannot be opened any more is made anew.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/server.h"

namespace fathom::bench {

struct BusyOptions {
  ServerOptions server;         // its data directory is chosen here
  std::string cache_directory;  // where such directories are kept, by content
  uint64_t spans = 0;
  uint64_t length_nano = 0;  // of their event time, which ends when they are made
  // What sends the large trace and prints its id; the address of OTLP over HTTP is put in place of "{}".
  std::vector<std::string> send_large_trace;
};

struct BusyFacts {
  uint64_t from_unix_nano = 0;
  uint64_t to_unix_nano = 0;
  std::string large_trace;
};

struct BusyServer {
  std::unique_ptr<Server> server;
  BusyFacts facts;
  bool made = false;  // rather than found
};

// Starts a server on such a directory, which is made first where there is none.
Result<BusyServer> start_busy_server(const BusyOptions& options);

// As they are kept beside the data.
std::string to_json(const BusyFacts& facts);
Result<BusyFacts> busy_facts(const std::string& json);

// $XDG_CACHE_HOME/fathom-bench, or what stands for it.
std::string default_cache_directory();

}  // namespace fathom::bench
