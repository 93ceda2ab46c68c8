#include "collector/control/rules_file.h"

#include <array>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/replace_file.h"
#include "ingest.pb.h"

namespace fathom::collector {

namespace {

namespace wire = fathom::ingest::v1;

constexpr const char* kName = "tracepoint-rules";
constexpr const char* kDamagedName = "tracepoint-rules.damaged";
constexpr std::string_view kMagic = "FTHMRULE";
constexpr uint8_t kVersion = 1;
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

Result<TracepointRules> rules_in(std::string_view message) {
  wire::TracepointRules read;
  if (!read.ParseFromArray(message.data(), static_cast<int>(message.size()))) return corrupt("damaged");
  TracepointRules rules;
  for (const wire::TracepointRule& one : read.rules()) {
    std::optional<NodeId> node = NodeId::from_bytes(one.node_id());
    if (!node && !one.node_id().empty()) return corrupt("a node's id has another size");
    Result<> added = rules.add({one.enables(), one.pattern(), one.service(), node});
    if (!added) return corrupt(added.error().message);
  }
  return rules;
}

Result<> check_version(uint8_t version) {
  if (version == kVersion) return {};
  return Error{ErrorCode::kUnsupported,
               "has version " + std::to_string(version) + "; this program reads " + std::to_string(kVersion)};
}

}  // namespace

Result<TracepointRules> decode_rules(std::string_view content) {
  if (content.size() > kMostBytes) return corrupt("too long");
  ByteReader in(content);
  if (in.raw(kMagic.size()) != kMagic) return corrupt("no rules of tracepoints: its first bytes are others");
  Result<> known = check_version(in.u8());
  const uint64_t hash = in.u64();
  if (in.failed()) return corrupt("too short");
  if (!known) return known.error();
  std::string_view message = in.raw(in.remaining());
  return hash64(message) == hash ? rules_in(message) : corrupt("damaged");
}

std::string with_rules_head(std::string_view message) {
  std::string content(kMagic);
  ByteWriter out(content);
  out.u8(kVersion);
  out.u64(hash64(message));
  out.raw(message);
  return content;
}

std::string encode_rules(const TracepointRules& rules) {
  wire::TracepointRules out;
  for (const TracepointRule& rule : rules.all()) {
    wire::TracepointRule& one = *out.add_rules();
    one.set_enables(rule.enables);
    one.set_pattern(rule.pattern);
    one.set_service(rule.service);
    if (rule.node_id) one.set_node_id(std::string(rule.node_id->view()));
  }
  return with_rules_head(out.SerializeAsString());
}

Result<TracepointRules> read_rules(const std::string& directory) {
  std::string path = directory + "/" + kName;
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open() && errno == ENOENT) return TracepointRules();
  if (!file.open()) return system_error("cannot open " + path);
  Result<std::string> content = read_all(file);
  if (!content) return Error{content.error().code, path + ": " + content.error().message};
  Result<TracepointRules> rules = decode_rules(*content);
  if (!rules) return Error{rules.error().code, path + ": " + rules.error().message};
  return rules;
}

Result<> write_rules(const std::string& directory, const TracepointRules& rules) {
  Fd folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.open()) return system_error("cannot open " + directory);
  return replace_file(folder, kName, encode_rules(rules));
}

Result<std::string> set_rules_aside(const std::string& directory) {
  const std::string path = directory + "/" + kDamagedName;
  if (::rename((directory + "/" + kName).c_str(), path.c_str()) != 0) return system_error("cannot rename to " + path);
  return path;
}

}  // namespace fathom::collector
