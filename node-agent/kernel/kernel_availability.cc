#include "node-agent/kernel/kernel_availability.h"

#include <linux/capability.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "node-agent/kernel/bpf_programs.h"

namespace fathom::agent {

namespace {

// PROC_PID_INIT_INO: the one that processes of the host itself are in.
constexpr std::string_view kHostProcessIds = "pid:[4026531836]";
constexpr int kOldestMajor = 5;
constexpr int kOldestMinor = 14;

std::string link_target(const char* path) {
  char text[64];
  const ssize_t size = ::readlink(path, text, sizeof text);
  return size > 0 ? std::string(text, static_cast<size_t>(size)) : "";
}

uint64_t effective_capabilities() {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    uint64_t set = 0;
    if (word == "CapEff:" && file >> std::hex >> set) return set;
  }
  return 0;
}

bool has(uint64_t capabilities, int capability) {
  return (capabilities >> capability & 1) != 0;
}

bool may_trace(uint64_t capabilities) {
  if (has(capabilities, CAP_SYS_ADMIN)) return true;
  return has(capabilities, CAP_BPF) && has(capabilities, CAP_PERFMON);
}

// What the facts do not say, an attempt does.
std::optional<KernelObstacle> find_obstacle() {
  if (std::optional<KernelObstacle> obstacle = judge_kernel(read_kernel_facts())) return obstacle;
  auto programs = kernel::BpfPrograms::load(kernel::kLeastRingBytes, true);
  if (!programs) return refused_programs(programs.error());
  return std::nullopt;
}

using Names = std::vector<std::string_view>;

// Of one source: what the running kernel lacks.
Availability judge_source(std::string_view source, const Names& known) {
  Availability judged{.name = std::string(source), .available = true};
  for (const kernel::Tracepoint& tracepoint : kernel::tracepoints()) {
    if (tracepoint.source != source || std::ranges::find(known, tracepoint.name) != known.end()) continue;
    judged.available = false;
    judged.why_not = "this kernel has no tracepoint " + std::string(tracepoint.name);
    judged.cure = "a kernel that has it; the other sources do without";
  }
  return judged;
}

Names source_names() {
  Names names;
  for (const kernel::Tracepoint& tracepoint : kernel::tracepoints()) {
    if (std::ranges::find(names, tracepoint.source) == names.end()) names.push_back(tracepoint.source);
  }
  return names;
}

}  // namespace

KernelFacts read_kernel_facts() {
  KernelFacts facts;
  const std::string process_ids = link_target("/proc/self/ns/pid");
  facts.host_process_ids = process_ids.empty() || process_ids == kHostProcessIds;
  facts.describes_itself = ::access(kernel::kTypesOfKernel, R_OK) == 0;
  utsname name{};
  if (::uname(&name) == 0) std::sscanf(name.release, "%d.%d", &facts.major, &facts.minor);
  facts.capabilities = effective_capabilities();
  std::ifstream lockdown("/sys/kernel/security/lockdown");
  std::getline(lockdown, facts.lockdown);
  return facts;
}

std::optional<KernelObstacle> judge_kernel(const KernelFacts& facts) {
  if (std::pair(facts.major, facts.minor) < std::pair(kOldestMajor, kOldestMinor))
    return KernelObstacle{"Linux " + std::to_string(facts.major) + "." + std::to_string(facts.minor) + " is too old",
                          "Linux 5.14 or later"};
  if (!may_trace(facts.capabilities))
    return KernelObstacle{"CAP_BPF and CAP_PERFMON are missing",
                          "start the agent as root or with both (AmbientCapabilities=CAP_BPF CAP_PERFMON in a systemd "
                          "unit; --cap-add BPF --cap-add PERFMON for a container)"};
  if (!facts.host_process_ids)
    return KernelObstacle{"the agent runs in a container with process ids of its own",
                          "give it the host's: --pid=host, or hostPID: true"};
  if (!facts.describes_itself)
    return KernelObstacle{std::string("the kernel does not describe its types: no ") + kernel::kTypesOfKernel,
                          "a kernel with CONFIG_DEBUG_INFO_BTF, as distributions build them; in a container, a "
                          "readable /sys"};
  if (facts.lockdown.find("[confidentiality]") != std::string::npos)
    return KernelObstacle{"the kernel is locked down: confidentiality", "boot with lockdown=integrity, or without"};
  return std::nullopt;
}

KernelObstacle refused_programs(const Error& refusal) {
  return {refusal.message, "allow bpf() to the agent: seccomp or a security module may refuse it"};
}

std::vector<Availability> kernel_availability() {
  std::optional<KernelObstacle> obstacle = find_obstacle();
  Names known;
  if (!obstacle) {
    Result<Names> answer = kernel::known_tracepoints();
    if (answer) known = *std::move(answer);
  }
  std::vector<Availability> sources;
  for (std::string_view name : source_names()) {
    if (obstacle)
      sources.push_back({std::string(name), false, obstacle->why_not, obstacle->cure});
    else
      sources.push_back(judge_source(name, known));
  }
  return sources;
}

}  // namespace fathom::agent
