// What spans of this host's programs need: a clock that is cheap and true, memory to share, an agent to take it.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "cli/agent_socket.h"
#include "cli/doctor_checks.h"
#include "cli/fd.h"

namespace fathom::cli {

namespace {

bool has_word(const std::string& text, const std::string& word) {
  std::istringstream words(text);
  for (std::string one; words >> one;) {
    if (one == word) return true;
  }
  return false;
}

// Of the first processor; the others have the same.
std::string processor_flags(const std::string& cpu_info) {
  size_t begin = cpu_info.find("\nflags");
  if (begin == std::string::npos) return "";
  return cpu_info.substr(begin, cpu_info.find('\n', begin + 1) - begin);
}

constexpr const char* kAgentCure =
    "start one with fathom up; if it prints an export of FATHOM_AGENT_SOCKET, run that first";

Finding agent_at(const std::string& path, SocketState state) {
  switch (state) {
    case SocketState::kLive:
      return {"agent", Health::kOk, "listens at " + path, ""};
    case SocketState::kForbidden:
      return {"agent", Health::kWarn, path + " may not be opened by this user",
              "start the agent with a socket that this user's programs may open: fathom up --agent-socket PATH"};
    case SocketState::kStale:
      return {"agent", Health::kWarn, "nobody listens at " + path, kAgentCure};
    case SocketState::kTooLong:
      return {"agent", Health::kWarn,
              path + " is too long for a socket (" + std::to_string(path.size()) + " bytes of " +
                  std::to_string(kMostSocketPathBytes) + " at most): programs do not look there",
              "start the agent with a shorter path, and tell programs by $FATHOM_AGENT_SOCKET"};
    case SocketState::kAbsent:
      break;
  }
  return {"agent", Health::kWarn, "none where programs look: " + path, kAgentCure};
}

}  // namespace

Finding judge_tsc(const std::string& cpu_info) {
  std::string flags = processor_flags(cpu_info);
  bool invariant = has_word(flags, "constant_tsc") && has_word(flags, "nonstop_tsc");
  if (invariant) return {"span clock", Health::kOk, "invariant TSC", ""};
  return {"span clock", Health::kWarn, "no invariant TSC: spans read CLOCK_MONOTONIC",
          "nothing to do; a span costs some tens of nanoseconds more here"};
}

Finding check_tsc() {
  std::ifstream file("/proc/cpuinfo");
  std::ostringstream text;
  text << file.rdbuf();
  return judge_tsc("\n" + text.str());
}

Finding check_memfd() {
  Fd file(::memfd_create("fathom-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  bool sealed = file.open() && ::ftruncate(file.get(), 4096) == 0 &&
                ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  if (sealed) return {"shared memory", Health::kOk, "memfd with seals", ""};
  return {"shared memory", Health::kWarn, system_error("no memfd with seals").message,
          "programs here lose all their spans; allow memfd_create and F_ADD_SEALS (seccomp, container profile)"};
}

Finding check_agent_socket(const Context& context) {
  if (context.env_is_empty("FATHOM_AGENT_SOCKET")) {
    return {"agent", Health::kWarn, "FATHOM_AGENT_SOCKET is empty: programs started here look for no agent",
            "unset it, unless no spans are wanted"};
  }
  std::optional<Finding> first;
  for (const std::string& path : agent_socket_places(context)) {
    SocketState state = look_at_agent_socket(path);
    Finding finding = agent_at(path, state);
    if (state == SocketState::kLive) return finding;
    if (!first || first->says.starts_with("none")) first = finding;
  }
  return *first;
}

}  // namespace fathom::cli
