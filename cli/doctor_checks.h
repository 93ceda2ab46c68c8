// What `fathom doctor` looks at: one function per question, each with a finding and, where it is not ok, the cure.
//
// Purpose: a user with a problem finds it here before asking. A fault is `fail` when the server cannot work with it,
// and `warn` when it works worse or only the demo suffers. Nothing is changed on the host; the fsync measurement writes
// one unnamed file and lets it go. Thread safety: one thread.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "cli/args.h"
#include "cli/context.h"

namespace fathom::cli {

enum class Health { kOk, kWarn, kFail };

struct Finding {
  std::string check;  // "disk space"
  Health health = Health::kOk;
  std::string says;     // what was found
  std::string cure;     // empty when ok
  std::string lacks{};  // of check_sources(): the names of what an agent cannot record, "a, b"
};

// This host.
Finding check_kernel();
Finding check_clock_source();
Finding check_clock_sync();
Finding check_memory();
Finding check_open_files();

// What spans of this host's programs need.
Finding check_tsc();
Finding check_memfd();
Finding check_agent_socket(const Context& context);

// What the sources of an agent started by this user may record.
std::vector<Finding> check_sources(const Context& context);

// Whether instructions can be recorded by the processor; it takes a snapshot, and a second.
Finding check_intel_pt(const Context& context);

// The data directory, or where it would be made.
Finding check_disk_space(const std::string& directory);
Finding check_data_directory(const std::string& directory);
Finding check_file_system(const std::string& directory);
Finding check_fsync(const std::string& directory);

// Programs and servers.
Finding check_programs(const Context& context);
Finding check_server(const Context& context, const Args& args, bool& reachable);
std::vector<Finding> check_nodes(const Context& context, const Args& args);  // of a server that is ready
Finding check_port(const std::string& purpose, const std::string& flag, const std::string& address, bool reachable);
Finding check_node();
Finding check_npm();
Finding check_shop(const Context& context);
Finding check_otel_shop(const Context& context);

// The same judgements on numbers, for tests.
Finding judge_disk_space(uint64_t free_bytes, uint64_t total_bytes);
Finding judge_fsync(std::vector<uint64_t> durations_nano);
Finding judge_node_version(const std::string& version);
std::vector<Finding> judge_sources(const boost::json::array& sources);
std::vector<Finding> judge_nodes(const boost::json::array& nodes);
Finding judge_tsc(const std::string& cpu_info);

}  // namespace fathom::cli
