#include "store/wal/manifest_size.h"

#include <algorithm>
#include <sstream>

#include "store/wal/hash_line.h"
#include "store/wal/replace_env_file.h"

namespace fathom::store {

namespace {

constexpr std::string_view kPrefix = "MANIFEST-";

std::string path_of(const std::string& store) {
  return store + "/manifest-size";
}

}  // namespace

bool is_manifest_name(std::string_view name) {
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) return false;
  return std::ranges::all_of(name.substr(kPrefix.size()), [](char c) { return c >= '0' && c <= '9'; });
}

std::string current_manifest_name(rocksdb::Env& env, const std::string& store) {
  std::string name;
  const rocksdb::Status status = rocksdb::ReadFileToString(&env, store + "/CURRENT", &name);
  if (!status.ok() || !name.ends_with('\n')) return {};
  name.pop_back();
  return is_manifest_name(name) ? name : std::string();
}

ManifestSizes ManifestSizes::read(rocksdb::Env& env, const std::string& store) {
  std::string bytes;
  if (!rocksdb::ReadFileToString(&env, path_of(store), &bytes).ok()) return {};
  ManifestSizes found;
  std::istringstream in(bytes);
  std::string name;
  for (uint64_t size = 0; in >> name && is_manifest_name(name) && in >> size;) found.set(name, size);
  return found.text() == bytes ? found : ManifestSizes();
}

std::vector<std::string> ManifestSizes::manifests() const {
  std::vector<std::string> names;
  for (const auto& [name, size] : sizes_) names.insert(names.begin(), name);
  return names;
}

std::optional<uint64_t> ManifestSizes::synced_bytes(const std::string& manifest) const {
  const auto found = std::ranges::find(sizes_, manifest, &std::pair<std::string, uint64_t>::first);
  return found == sizes_.end() ? std::nullopt : std::optional(found->second);
}

void ManifestSizes::set(const std::string& manifest, uint64_t synced_bytes) {
  std::erase_if(sizes_, [&](const auto& size) { return size.first == manifest; });
  sizes_.emplace_back(manifest, synced_bytes);
}

void ManifestSizes::keep(const std::string& current) {
  if (sizes_.empty()) return;
  const auto kept =
      std::remove_if(sizes_.begin(), sizes_.end() - 1, [&](const auto& size) { return size.first != current; });
  sizes_.erase(kept, sizes_.end() - 1);
}

rocksdb::Status ManifestSizes::write(rocksdb::Env& env, const std::string& store) const {
  return replace_env_file(env, path_of(store), text());
}

std::string ManifestSizes::text() const {
  std::string lines;
  for (const auto& [name, bytes] : sizes_) lines += name + " " + std::to_string(bytes) + "\n";
  return lines + hash_line(lines);
}

}  // namespace fathom::store
