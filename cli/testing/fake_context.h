// A world for subcommands: output in strings, an environment by hand, and a server that answers from a script.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/exit_codes.h"

namespace fathom::cli {

class FakeWorld {
 public:
  static constexpr uint64_t kNow = 1'795'226'400'000'000'000;  // 2026-11-21T02:00:00Z

  Context context();
  void answer(int status, std::string body);
  void answer(Error error);

  // Runs `fathom WORDS...`.
  ExitCode run(const std::vector<std::string>& words);

  std::string out;
  std::string err;
  std::map<std::string, std::string> environment;
  std::vector<std::string> urls;     // that were connected to
  std::vector<std::string> targets;  // that were asked for, in order
  std::vector<std::string> posted;   // the documents that were posted, in order; their targets are among `targets`
  std::vector<std::string> put;      // bytes, in order; likewise
  uint64_t slept_nano = 0;           // nobody really does
  std::string executable = "/nowhere/fathom";

 private:
  Result<net::HttpReply> reply(std::string_view target);
  std::deque<Result<net::HttpReply>> answers_;  // the last one is given again and again
};

// A target as it was meant, however it was encoded: "/path key=value key=value".
std::string decoded_target(const std::string& text);

}  // namespace fathom::cli
