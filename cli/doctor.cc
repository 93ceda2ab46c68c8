#include "cli/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cli/command.h"
#include "cli/filter_flags.h"
#include "cli/help.h"
#include "cli/server_flags.h"
#include "cli/text.h"
#include "net/json_writer.h"

namespace fathom::cli {

namespace {

constexpr size_t kCheckWidth = 20;

Flag pt_flag() {
  return {"--pt", "", "only whether snapshots by Intel PT work here: records a known program and compares", ""};
}

CommandLine doctor_line() {
  return {"fathom doctor",
          "what this host offers, what it lacks, and the cure",
          "Looks at the kernel, clocks, memory, the data directory (fsync is measured), the agent's socket, the events "
          "of the "
          "kernel that an agent of this user may record, ports, the "
          "server, what its agents lost, and what the demo needs. Nothing is changed. The exit status is 5 when "
          "something would keep the server "
          "from working.",
          {},
          join({place_flags(), {pt_flag(), format_flag("table")}, connection_flags()}),
          {{"fathom doctor", "before the first 'fathom up'"},
           {"fathom doctor --data /srv/fathom", "is that disk fast enough?"},
           {"fathom doctor --pt", "can the instructions of slow requests be recorded here, and if not, why?"},
           {"fathom doctor --format json | jq '.checks[] | select(.status != \"ok\")'", "what is not in order"}}};
}

const char* health_name(Health health) {
  switch (health) {
    case Health::kOk:
      return "ok";
    case Health::kWarn:
      return "warn";
    case Health::kFail:
      return "fail";
  }
  return "fail";
}

const char* health_colour(Health health) {
  if (health == Health::kOk) return "\x1b[32m";
  return health == Health::kWarn ? "\x1b[33m" : "\x1b[31m";
}

bool any_failure(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    if (finding.health == Health::kFail) return true;
  }
  return false;
}

std::string ingest_of(const Args& args) {
  Result<std::string> ingest = ingest_address(args);
  return ingest ? *ingest : args.get("--ingest");
}

using Findings = std::vector<Finding>;

// Where the package's server has its data; who may not write there is told of a directory of their own.
constexpr const char* kPackagedData = "/var/lib/fathom";

// Of where the spans are, or would be, kept.
Findings examine_disk(const Args& args, const Context& context) {
  std::string data = args.get("--data");
  if (data.empty() && ::access(kPackagedData, W_OK | X_OK) == 0) data = kPackagedData;
  if (data.empty()) data = default_data_directory(context.env("XDG_DATA_HOME"), context.env("HOME"));
  if (data.empty()) {
    return {{"data directory", Health::kWarn, "there is no home directory ($HOME is not set), so nobody knows which",
             "say which: --data DIR, to fathom doctor and to fathom up"}};
  }
  return {check_data_directory(data), check_file_system(data), check_disk_space(data), check_fsync(data)};
}

Findings examine_host(const Args& args, const Context& context) {
  Findings findings{check_kernel(), check_clock_source(), check_clock_sync(), check_memory(), check_open_files()};
  std::ranges::move(examine_disk(args, context), std::back_inserter(findings));
  for (Finding& finding : Findings{check_tsc(), check_memfd(), check_agent_socket(context), check_programs(context)}) {
    findings.push_back(std::move(finding));
  }
  return findings;
}

Findings examine_server(const Args& args, const Context& context, bool& reachable) {
  Findings findings{check_server(context, args, reachable)};
  if (findings.front().health == Health::kOk)
    std::ranges::move(check_nodes(context, args), std::back_inserter(findings));
  return findings;
}

Findings examine_ports(const Args& args, bool reachable) {
  return {check_port("port: queries", "--http", args.get("--http"), reachable),
          check_port("port: OTLP/gRPC", "--otlp-grpc", args.get("--otlp-grpc"), reachable),
          check_port("port: OTLP/HTTP", "--otlp-http", args.get("--otlp-http"), reachable),
          check_port("port: agents", "--ingest", ingest_of(args), reachable)};
}

Findings examine_demo(const Context& context) {
  const Finding shop = check_shop(context);
  const Finding otel_shop = check_otel_shop(context);
  // An installed fathom has neither, and wants for nothing.
  if (shop.health != Health::kOk && otel_shop.health != Health::kOk) {
    return {{"demo", Health::kOk, "not installed, and not needed: a clone of the sources has it (./dev demo)", ""}};
  }
  return {shop, otel_shop, check_node(), check_npm()};
}

Findings examine(const Args& args, const Context& context) {
  bool reachable = false;
  Findings server = examine_server(args, context, reachable);
  Findings all;
  for (auto&& some : {examine_host(args, context), check_sources(context), server, examine_ports(args, reachable),
                      examine_demo(context)}) {
    std::ranges::copy(some, std::back_inserter(all));
  }
  return all;
}

// The last line, for whoever reads no other.
std::string pt_verdict(const Finding& finding) {
  if (finding.health == Health::kOk) return "snapshots by Intel PT work here\n";
  return "snapshots by Intel PT do not work here: " + printable(finding.says) + "\n";
}

ExitCode run_doctor(const Args& args, const Context& context) {
  Result<std::string> format = format_of(args, "table");
  if (!format) return failed(context, format.error());
  const std::vector<Finding> findings = args.has("--pt") ? Findings{check_intel_pt(context)} : examine(args, context);
  context.out(*format == "json" ? findings_json(findings) : findings_text(findings, context.colour));
  if (args.has("--pt") && *format != "json") context.out(pt_verdict(findings.front()));
  return any_failure(findings) ? ExitCode::kLocalFailure : ExitCode::kOk;
}

}  // namespace

std::string findings_text(const std::vector<Finding>& findings, bool colour) {
  std::string out;
  for (const Finding& finding : findings) {
    std::string health = pad_to_width(health_name(finding.health), 6, Align::kLeft);
    out += colour ? health_colour(finding.health) + health + "\x1b[0m" : health;
    out += pad_to_width(finding.check, kCheckWidth, Align::kLeft) + printable(finding.says) + "\n";
    if (!finding.cure.empty()) out += std::string(6 + kCheckWidth, ' ') + "-> " + printable(finding.cure) + "\n";
  }
  return out;
}

std::string findings_json(const std::vector<Finding>& findings) {
  std::string out;
  net::JsonWriter writer(out);
  writer.begin_object().member("ok", !any_failure(findings)).key("checks").begin_array();
  for (const Finding& finding : findings) {
    writer.begin_object();
    writer.member("check", finding.check).member("status", health_name(finding.health));
    writer.member("says", finding.says).member("cure", finding.cure);
    writer.end_object();
  }
  writer.end_array().end_object();
  return json_safe(out) + "\n";
}

const Command& doctor_command() {
  static const Command kCommand{doctor_line(), run_doctor};
  return kCommand;
}

}  // namespace fathom::cli
