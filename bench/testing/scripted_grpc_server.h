// A gRPC server that answers as a test's script says, and keeps what it was sent.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fathom::bench {

struct ScriptedAnswer {
  int status = 0;           // gRPC's
  std::string reply_bytes;  // of an answer that is OK
};

class ScriptedGrpcServer {
 public:
  // `answer` is called with the number of the request, counted from 0; on the server's threads, one call at a time.
  explicit ScriptedGrpcServer(std::function<ScriptedAnswer(size_t)> answer);
  ~ScriptedGrpcServer();
  std::string address() const;
  std::vector<std::string> requests() const;  // those that were answered OK

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fathom::bench
