#include "store/rocks/upgrade_manifest.h"

#include <fcntl.h>

#include <algorithm>
#include <sstream>

#include "base/fd.h"
#include "base/replace_file.h"
#include "base/small_file.h"
#include "store/rocks/database.h"
#include "store/wal/hash_line.h"

namespace fathom::store {

namespace {

constexpr const char* kFileName = "upgrade";
constexpr uint64_t kMostBytes = 4 << 10;

std::string lines_of(const UpgradeManifest& manifest) {
  const PendingUpgrade& upgrade = manifest.upgrade;
  std::string text = "from " + std::to_string(upgrade.from) + "\nto " + std::to_string(upgrade.to) +
                     "\nmade_unix_nano " + std::to_string(upgrade.made_unix_nano) + "\nran_nano " +
                     std::to_string(upgrade.ran_nano) + "\n";
  for (const std::string& part : manifest.parts) text += "part " + part + "\n";
  return text + "end\n";
}

UpgradeManifest parse(std::string_view bytes) {
  std::istringstream in{std::string(bytes)};
  UpgradeManifest manifest;
  PendingUpgrade& upgrade = manifest.upgrade;
  for (std::string key, part; in >> key && key != "end";) {
    if (key == "from") in >> upgrade.from;
    if (key == "to") in >> upgrade.to;
    if (key == "made_unix_nano") in >> upgrade.made_unix_nano;
    if (key == "ran_nano") in >> upgrade.ran_nano;
    if (key == "part" && in >> part) manifest.parts.insert(part);
  }
  return manifest;
}

bool is_known_part(const std::string& part) {
  return std::ranges::find(kUpgradeParts, part) != kUpgradeParts.end();
}

Result<> check_parts(const std::set<std::string>& parts) {
  const auto unknown = std::ranges::find_if_not(parts, is_known_part);
  if (unknown != parts.end()) return corrupt("it lists the unknown part " + *unknown);
  if (!parts.contains("store")) return corrupt("it does not list the part store");
  return {};
}

}  // namespace

std::string encode_upgrade_manifest(const UpgradeManifest& manifest) {
  const std::string lines = lines_of(manifest);
  return lines + hash_line(lines);
}

Result<UpgradeManifest> decode_upgrade_manifest(std::string_view bytes) {
  UpgradeManifest manifest = parse(bytes);
  manifest.has_hash = bytes == encode_upgrade_manifest(manifest);
  if (!manifest.has_hash && bytes != lines_of(manifest)) {
    return corrupt("a line of it is damaged");
  }
  const auto& [from, to, made, ran] = manifest.upgrade;
  if (from < 1 || to <= from) {
    return corrupt("it names an upgrade from format " + std::to_string(from) + " to " + std::to_string(to));
  }
  if (to > newest_format_version()) {
    return Error{ErrorCode::kUnsupported,
                 "a newer fathom wrote it (format " + std::to_string(to) + "); use the newer program"};
  }
  if (Result<> checked = check_parts(manifest.parts); !checked) return checked.error();
  return manifest;
}

Result<> write_upgrade_manifest(const std::string& directory, const UpgradeManifest& manifest) {
  const Fd folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.open()) return system_error("cannot open " + directory);
  return replace_file(folder, kFileName, encode_upgrade_manifest(manifest));
}

Result<UpgradeManifest> read_upgrade_manifest(const std::string& directory) {
  const std::string path = directory + "/" + kFileName;
  Result<std::string> bytes = read_small_file(path, kMostBytes);
  if (!bytes) return bytes.error();
  Result<UpgradeManifest> manifest = decode_upgrade_manifest(*bytes);
  if (manifest) return manifest;
  return Error{manifest.error().code, path + " cannot be used: " + manifest.error().message};
}

}  // namespace fathom::store
