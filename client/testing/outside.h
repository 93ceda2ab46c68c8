// What a tool in another process can find out about one: for tests of what the client publishes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

namespace fathom::client::testing {

struct PublishedContext {
  bool found = false;
  uint32_t version = 0;
  uint64_t published_nano = 0;
  std::map<std::string, std::string> resource;    // attributes of the resource; what is no string is ""
  std::map<std::string, std::string> attributes;  // the others
};

// By /proc/PID/maps and the process's memory, as OTEP 4719 says.
PublishedContext find_process_context(pid_t pid);

}  // namespace fathom::client::testing
