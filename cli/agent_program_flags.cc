#include "cli/agent_program_flags.h"

#include "cli/filter_flags.h"
#include "cli/redact_flags.h"
#include "cli/security_flags.h"

namespace fathom::cli {

std::vector<Flag> slow_request_flags() {
  return {{"--kernel-events-memory", "SIZE",
           "memory per processor for the kernel's events, 64KiB to 256MiB, at most 1GiB in all; 32MiB hold 20 s of "
           "25,000 events a second",
           "32MiB"},
          {"--slowest-period", "D",
           "capture the two slowest requests of each operation in every period of this length, 1s to 1h", "1m"},
          {"--slowest-memory", "SIZE", "memory for captures until their period is over, at least 1MiB", "128MiB"}};
}

Flag pt_all_users_flag() {
  return {"--pt-all-users", "",
          "snapshots contain the programs of all users (default: only of the user whose process triggered it)"};
}

Flag pt_private_images_flag() {
  return {"--pt-private-images", "",
          "snapshots also contain copies of programs and libraries that not everybody may read; users with the scope "
          "'snapshots' can download them"};
}

std::vector<Flag> agent_program_flags() {
  return join(
      {client_security_flags("--collector-", "the collector", ""),
       listener_security_flags(),
       {{"--agent-socket", "PATH",
         "the unix socket where programs offer their memory (default: $FATHOM_AGENT_SOCKET; /run/fathom/agent.sock "
         "for root, $XDG_RUNTIME_DIR/fathom/agent.sock for others)"},
        {"--collector", "ADDR", "HOST:PORT where a server takes agents' spans (its --ingest)", "127.0.0.1:7072"},
        {"--collector-tls", "", "speak TLS with the collector; a CA or a certificate for it says so, too"},
        {"--state", "DIR",
         "the node's id, and the spool (default: /var/lib/fathom-agent for root, $XDG_STATE_HOME/fathom-agent or "
         "~/.local/state/fathom-agent for others)"},
        {"--node-name", "NAME", "what this host is called in 'fathom nodes' (default: its host name)"},
        {"--spool-limit", "SIZE", "spans on disk while the collector is away; 0: no more", "256MiB"},
        {"--http", "ADDR", "HOST:PORT of /metrics, /healthz and /tracepoints (default: off)"},
        {"--kernel-events", "off|requested|scheduling|traced",
         "what the kernel tells of traced programs: context switches, wake-ups and page faults "
         "(scheduling), or system calls too (traced: some 280 ns for each of theirs, and half of that for every "
         "other "
         "process's). While a request for a capture waits for its window, everything; 'requested': only then; "
         "'off': "
         "never",
         "scheduling"}},
       slow_request_flags(),
       {{"--capture-budget", "SIZE", "events in one capture, 1MiB to 64MiB; beyond it the oldest are left out",
         "16MiB"},
        {"--overdue-after", "D",
         "capture spans that take longer, while the usual duration of their operation is not learnt yet (default: "
         "capture none of these)"},
        redact_flag(),
        redact_key_file_flag("directory of --state"),
        {"--no-captures", "", "make no captures, neither for triggers nor on request"},
        {"--pt", "",
         "record what the processors run by Intel PT, and cut a snapshot at each trigger; programs lose up to a "
         "quarter "
         "of their speed. `fathom doctor --pt` says whether this host can"},
        pt_all_users_flag(),
        pt_private_images_flag(),
        {"--pt-buffer-mib", "N", "the last so many MiB of packets of each CPU, a power of two up to 1024", "16"},
        {"--pt-window", "D", "of a snapshot, before its trigger, 1ms to 5s", "50ms"},
        {"--pt-symbol", "FILE:FUNCTION", "cut one when a traced program reaches this function, too"},
        {"--pt-spool", "SIZE", "snapshots and their images on disk while the collector is away", "1GiB"}}});
}

}  // namespace fathom::cli
