#include "collector/control/rules_file.h"

#include <array>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/replace_file.h"
#include "ingest.pb.h"

namespace fathom::collector {

namespace {

namespace wire = fathom::ingest::v1;

constexpr const char* kName = "tracepoint-rules";
constexpr size_t kMostBytes = 1 << 20;  // much more than the bounds of rules allow

Result<std::string> read_all(const Fd& file) {
  std::string content;
  std::array<char, 16 * 1024> piece;
  while (content.size() <= kMostBytes) {
    ssize_t size = ::read(file.get(), piece.data(), piece.size());
    if (size < 0) return system_error("cannot read");
    if (size == 0) return content;
    content.append(piece.data(), static_cast<size_t>(size));
  }
  return corrupt("too long");
}

Result<TracepointRules> rules_in(const std::string& content) {
  wire::TracepointRules read;
  if (!read.ParseFromString(content)) return corrupt("damaged");
  TracepointRules rules;
  for (const wire::TracepointRule& one : read.rules()) {
    std::optional<NodeId> node = NodeId::from_bytes(one.node_id());
    if (!node && !one.node_id().empty()) return corrupt("a node's id has another size");
    Result<> added = rules.add({one.enables(), one.pattern(), one.service(), node});
    if (!added) return corrupt(added.error().message);
  }
  return rules;
}

std::string content_of(const TracepointRules& rules) {
  wire::TracepointRules out;
  for (const TracepointRule& rule : rules.all()) {
    wire::TracepointRule& one = *out.add_rules();
    one.set_enables(rule.enables);
    one.set_pattern(rule.pattern);
    one.set_service(rule.service);
    if (rule.node_id) one.set_node_id(std::string(rule.node_id->view()));
  }
  return out.SerializeAsString();
}

}  // namespace

Result<TracepointRules> read_rules(const std::string& directory) {
  std::string path = directory + "/" + kName;
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open() && errno == ENOENT) return TracepointRules();
  if (!file.open()) return system_error("cannot open " + path);
  Result<std::string> content = read_all(file);
  if (!content) return Error{content.error().code, path + ": " + content.error().message};
  Result<TracepointRules> rules = rules_in(*content);
  if (!rules) return corrupt(path + ": " + rules.error().message);
  return rules;
}

Result<> write_rules(const std::string& directory, const TracepointRules& rules) {
  Fd folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.open()) return system_error("cannot open " + directory);
  return replace_file(folder, kName, content_of(rules));
}

}  // namespace fathom::collector
