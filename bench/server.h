// The server under test: a real fathom-server on free ports of the loopback, with a data directory that dies with it
// unless one is given.
//
// Thread safety: one thread, but for what ChildProcess allows. Ownership: stops the server and removes its directory.
// Errors: kUnavailable when it does not come up; the message names its log.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/child_process.h"
#include "bench/machine.h"

namespace fathom::bench {

struct ServerOptions {
  std::string program;         // fathom-server
  std::string work_directory;  // where data and log go, in a directory of this run's
  std::vector<std::string> arguments = {};
  std::string data_directory = "";  // one that is kept; else a new one
};

class Server {
 public:
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options);
  ~Server();

  const std::string& http() const { return http_; }
  const std::string& otlp_grpc() const { return otlp_grpc_; }
  const std::string& otlp_http() const { return otlp_http_; }
  const std::string& ingest() const { return ingest_; }  // for agents; empty when the server takes none
  const ChildProcess& process() const { return process_; }
  const std::string& data_directory() const { return data_; }

  struct Settled {
    double cpu_seconds = 0;  // from readiness until all is sealed, compacted and closed
    double rss_max_mib = 0;
    DiskUse disk;
  };
  // Asks it to end with everything sealed and compacted, and takes the measure of what is left.
  Result<Settled> settle_and_stop();

 private:
  Server() = default;

  ChildProcess process_;
  std::string directory_;
  std::string data_;
  std::string log_;
  std::string http_;
  std::string otlp_grpc_;
  std::string otlp_http_;
  std::string ingest_;
  double cpu_seconds_at_ready_ = 0;
};

// A new directory below `parent` for one run.
Result<std::string> make_run_directory(const std::string& parent);
// `name` beside the running program.
std::string beside_this_program(const std::string& name);
// The text of a key in a line of JSON such as {"http":"127.0.0.1:1"}.
Result<std::string> address_in(const std::string& line, std::string_view key);

}  // namespace fathom::bench
