#include "store/verify/repair_mark.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/replace_file.h"
#include "base/sha256.h"
#include "base/small_file.h"
#include "store/rocks/database.h"
#include "store/verify/repair_directories.h"
#include "store/wal/hash_line.h"

namespace fathom::store {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVersion = "version 2\n", kState = "state ", kFiles = "files ", kSource = "source ";
constexpr std::array<std::pair<RepairMark::State, std::string_view>, 3> kStates = {
    {{RepairMark::State::kUnfinished, "unfinished"},
     {RepairMark::State::kNothingLost, "nothing-lost"},
     {RepairMark::State::kLoss, "loss"}}};

// Every write of a server changes them: each start begins a log.
std::map<std::string, uint64_t> sizes_of_rows(const std::string& store) {
  std::map<std::string, uint64_t> sizes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(store, error)) {
    const fs::path extension = entry.path().extension();
    if (extension != ".sst" && extension != ".log") continue;
    std::error_code fault;
    const uint64_t size = entry.file_size(fault);
    sizes[entry.path().filename()] = fault ? 0 : size;
  }
  return sizes;
}

std::string hash_of_files(const std::string& store) {
  Sha256Hasher hasher;
  const Result<std::string> identity = read_small_file(store + "/IDENTITY");
  hasher.add(identity ? *identity : std::string());
  for (const auto& [name, size] : sizes_of_rows(store)) hasher.add("\n" + name + " " + std::to_string(size));
  return hasher.finish().hex();
}

// Removes `prefix` and the line that begins with it from the front of `text`.
std::optional<std::string_view> take_line(std::string_view& text, std::string_view prefix) {
  const size_t end = text.find('\n');
  if (!text.starts_with(prefix) || end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(prefix.size(), end - prefix.size());
  text.remove_prefix(end + 1);
  return line;
}

// The path is the last field, because it may contain line feeds.
std::optional<RepairMark> parse(std::string_view text) {
  if (!text.starts_with(kVersion)) return std::nullopt;
  text.remove_prefix(kVersion.size());
  const std::optional<std::string_view> state = take_line(text, kState), files = take_line(text, kFiles);
  const size_t end = text.size() < 2 ? 0 : text.rfind('\n', text.size() - 2);
  if (!state || !files || !text.starts_with(kSource) || end == std::string_view::npos) return std::nullopt;
  const auto* known = std::ranges::find(kStates, *state, [](const auto& named) { return named.second; });
  if (known == kStates.end()) return std::nullopt;
  const std::string_view path = text.substr(kSource.size(), end - kSource.size());
  return RepairMark{{std::string(path), std::string(*files)}, known->first};
}

// Older programs wrote an absolute path and a line feed, before they knew what is lost.
std::optional<RepairMark> parse_older(std::string_view text) {
  if (!text.starts_with('/') || !text.ends_with('\n')) return std::nullopt;
  const std::string path(text.substr(0, text.size() - 1));
  return RepairMark{{resolved_path(path), std::nullopt}, RepairMark::State::kUnknown};
}

}  // namespace

RepairSource repair_source(const std::string& path) {
  return {resolved_path(path), hash_of_files(log_places(path).store)};
}

Result<> RepairMark::write(const std::string& directory) const {
  const Fd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.open()) return system_error("cannot open " + directory);
  const auto* name = std::ranges::find(kStates, state, [](const auto& named) { return named.first; });
  std::string lines(kVersion);
  lines.append(kState).append(name->second).append("\n");
  lines.append(kFiles).append(source.files.value_or("")).append("\n");
  lines.append(kSource).append(source.path).append("\n");
  return replace_file(opened, kName, lines + hash_line(lines));
}

Result<RepairMark> RepairMark::read(const std::string& directory) {
  const std::string path = directory + "/" + kName;
  const Result<std::string> text = read_small_file(path);
  if (!text) return text.error();
  std::optional<RepairMark> mark = ends_with_hash_line(*text) ? parse(*text) : parse_older(*text);
  if (mark) return std::move(*mark);
  return corrupt(path + " is damaged, or a newer fathom wrote it");
}

}  // namespace fathom::store
