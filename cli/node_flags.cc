#include "cli/node_flags.h"

#include "cli/api.h"
#include "cli/text.h"

namespace fathom::cli {

namespace {

constexpr uint64_t kMostPid = 1U << 30;

Result<std::string> named(const Args& args, const char* flag) {
  std::optional<std::string> name = args.given(flag);
  if (name && name->empty()) return invalid(std::string(flag) + ": the name is empty");
  return name.value_or("");
}

}  // namespace

std::vector<Flag> node_flags() {
  return {{"--service", "S", "programs of this service"},
          {"--pid", "P", "the process with this id, as its host counts"},
          {"--node", "N", "on this node only: its host name, or its id as 'fathom nodes' shows it"}};
}

Result<NodeChoice> node_choice(const Args& args) {
  NodeChoice choice;
  Result<std::string> service = named(args, "--service"), node = named(args, "--node");
  if (!service) return service.error();
  if (!node) return node.error();
  choice.service = *std::move(service);
  choice.node = *std::move(node);
  if (!args.given("--pid")) return choice;
  Result<uint64_t> pid = args.number("--pid", 1, kMostPid);
  if (!pid) return pid.error();
  choice.pid = *pid;
  return choice;
}

std::string node_notes(const boost::json::array& nodes, const std::string& member) {
  std::string notes;
  for (const boost::json::value& node : nodes) {
    std::string why = text_of(node, member);
    if (!why.empty()) notes += printable(text_of(node, "host_name")) + ": " + printable(why) + "\n";
  }
  return notes;
}

}  // namespace fathom::cli
