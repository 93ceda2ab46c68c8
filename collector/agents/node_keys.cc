#include "collector/agents/node_keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/metrics.h"
#include "base/small_file.h"
#include "base/time.h"
#include "base/whole_io.h"

namespace fathom::collector {

namespace {

constexpr size_t kShownBytes = 64;
constexpr uint64_t kMostBytes = NodeKeys::kMost * 128;  // a line has 98

Counter& unbound() {
  static Counter& counted = counter("fathom_unbound_nodes_total",
                                    "Nodes whose key was not stored: another agent may take their id after a restart");
  return counted;
}

// The length of the whole lines: a crash may have left half a line.
size_t whole_lines(std::string_view text) {
  return text.rfind('\n') == std::string_view::npos ? 0 : text.rfind('\n') + 1;
}

std::optional<std::pair<ingest::NodeId, Sha256>> parse_binding(std::string_view line) {
  const size_t blank = line.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const auto node_id = ingest::NodeId::from_hex_text(line.substr(0, blank));
  const auto digest = Sha256::from_hex_text(line.substr(blank + 1));
  if (!node_id || !digest) return std::nullopt;
  return std::pair(*node_id, *digest);
}

}  // namespace

Result<std::shared_ptr<NodeKeys>> NodeKeys::open(const std::string& directory) {
  unbound();
  std::shared_ptr<NodeKeys> keys(new NodeKeys(directory.empty() ? "" : directory + "/node-keys"));
  if (Result<> loaded = keys->reload(); !loaded) return loaded.error();
  return keys;
}

Result<> NodeKeys::reload() {
  if (path_.empty()) return {};
  Fd file(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.open()) return system_error("cannot open " + path_);
  std::lock_guard lock(mutex_);
  Result<std::string> text = read_small_file(path_, kMostBytes);
  if (!text) return text.error();
  const size_t size = whole_lines(*text);
  if (size != text->size() && ::ftruncate(file.get(), static_cast<off_t>(size)) != 0)
    return system_error("cannot repair " + path_);
  text->resize(size);
  file_ = std::move(file);
  digests_ = read(*text);
  return {};
}

NodeKeys::Digests NodeKeys::read(const std::string& text) const {
  Digests digests;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (const auto binding = parse_binding(line))
      digests[binding->first] = binding->second;
    else
      log_warning(path_ + " has a line that is not 'NODE_ID KEY_SHA256': " + line.substr(0, kShownBytes));
  }
  return digests;
}

NodeKeys::Verdict NodeKeys::admit(const ingest::NodeId& node_id, const ingest::NodeKey& key) {
  const Sha256 digest = sha256(key.view());
  std::lock_guard lock(mutex_);
  const auto known = digests_.find(node_id);
  if (known != digests_.end() && !key.is_zero() && known->second == digest) return Verdict::kAdmitted;
  if (known != digests_.end()) return warn_of_wrong_key(node_id), Verdict::kWrongKey;
  if (key.is_zero()) return Verdict::kAdmitted;
  if (!new_nodes_.take(now_monotonic_nano())) return Verdict::kLater;
  bind(node_id, digest);
  return Verdict::kAdmitted;
}

void NodeKeys::warn_of_wrong_key(const ingest::NodeId& node_id) {
  if (pace_.due()) log_warning("refused listener=ingest node=" + node_id.hex() + " reason=wrong_key");
}

void NodeKeys::bind(const ingest::NodeId& node_id, const Sha256& digest) {
  if (digests_.size() >= kMost) {
    unbound().add();
    if (pace_.due()) log_warning(path_ + " is full: new nodes have no key, and other agents may take their ids");
    return;
  }
  digests_[node_id] = digest;
  if (!file_.open()) return;
  const std::string line = node_id.hex() + " " + digest.hex() + "\n";
  const off_t end = ::lseek(file_.get(), 0, SEEK_END);
  if (write_whole(file_.get(), line, path_) && ::fdatasync(file_.get()) == 0) return;
  // Half a line would spoil the next one.
  if (end < 0 || ::ftruncate(file_.get(), end) != 0) log_warning("cannot repair " + path_);
  unbound().add();
  log_warning("cannot store a node's key in " + path_ + "; it counts until the server ends");
}

Result<> check_node_keys(const std::string& directory) {
  Result<std::string> text = read_small_file(directory + "/node-keys", kMostBytes);
  if (!text) return text.error();
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (!parse_binding(line)) return corrupt("a line is not 'NODE_ID KEY_SHA256': " + line.substr(0, kShownBytes));
  }
  return {};
}

}  // namespace fathom::collector
