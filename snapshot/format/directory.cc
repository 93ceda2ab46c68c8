#include "snapshot/format/directory.h"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/whole_io.h"
#include "snapshot/format/code_file.h"
#include "snapshot/format/kept_answer.h"

namespace fathom::snapshot {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".snapshot";
constexpr size_t kCopyBytes = 1 << 20;
constexpr auto kDraftAge = std::chrono::hours(24);

Error file_error(const std::string& what, const std::error_code& code) {
  return internal(what + ": " + code.message());
}

Result<> make_directory(const std::string& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) return file_error("cannot make the directory " + path, code);
  return {};
}

// What tells this system's processes from those of others that share the directory: its boot, and the namespace of
// process ids. Empty where that is not known.
std::string draft_prefix() {
  static const std::string kPrefix = [] {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string boot;
    struct stat about {};
    if (!std::getline(file, boot) || ::stat("/proc/self/ns/pid", &about) != 0) return std::string();
    return boot.substr(0, boot.find('-')) + "-" + std::to_string(about.st_ino) + "-";
  }();
  return kPrefix;
}

// Its process has ended: killed, or interrupted by a person.
bool is_abandoned(const std::string& draft) {
  const std::string prefix = draft_prefix();
  if (prefix.empty() || !draft.starts_with(prefix)) return false;
  pid_t pid = 0;
  const char* end = draft.data() + draft.size();
  const auto [at, error] = std::from_chars(draft.data() + prefix.size(), end, pid);
  return error == std::errc() && at != end && *at == '-' && pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
}

void remove_old_drafts(const std::string& drafts) {
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(drafts, code)) {
    const auto written = entry.last_write_time(code);
    const bool old = !code && fs::file_time_type::clock::now() - written > kDraftAge;
    if (old || is_abandoned(entry.path().filename().string())) fs::remove(entry.path(), code);
  }
}

Result<std::string> fresh_file(const std::string& drafts) {
  std::string path = drafts + "/" + draft_prefix() + std::to_string(::getpid()) + "-XXXXXX";
  Fd file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file.open()) return system_error("cannot write in " + drafts);
  return path;
}

Result<> rename_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return system_error("cannot name " + to);
  return {};
}

// Copies `from` to its end, and names what went through by its content.
Result<SnapshotDirectory::StoredImage> copy_hashed(const Fd& from, const Fd& to, const std::string& name) {
  Sha256Hasher hasher;
  SnapshotDirectory::StoredImage stored;
  std::string buffer(kCopyBytes, '\0');
  while (true) {
    const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("cannot read " + name);
    if (got == 0) break;
    const std::string_view bytes(buffer.data(), static_cast<size_t>(got));
    hasher.add(bytes);
    stored.bytes += bytes.size();
    if (auto written = write_whole(to.get(), bytes, "cannot copy " + name); !written) return written.error();
  }
  stored.content = hasher.finish();
  return stored;
}

struct Dated {
  fs::file_time_type written;
  SnapshotId id;
};

std::optional<SnapshotId> id_of(const fs::path& path) {
  const std::string name = path.filename();
  if (!name.ends_with(kSuffix)) return std::nullopt;
  return SnapshotId::from_hex_text(name.substr(0, name.size() - kSuffix.size()));
}

bool begins_with(const SnapshotId& id, std::string_view text) {
  return id.hex().starts_with(text);
}

}  // namespace

Result<SnapshotDirectory> SnapshotDirectory::open(const std::string& path) {
  const mode_t before = ::umask(077);
  Result<> made;
  for (const char* part : {"/snapshots", "/images", "/results", "/drafts"}) {
    if (made) made = make_directory(path + part);
  }
  ::umask(before);
  if (!made) return made.error();
  remove_old_drafts(path + "/drafts");
  return SnapshotDirectory(path);
}

Result<std::string> SnapshotDirectory::draft() const {
  return fresh_file(path_ + "/drafts");
}

Result<> SnapshotDirectory::publish(const std::string& draft, const SnapshotId& id) const {
  auto named = rename_file(draft, snapshot_path(id));
  if (named) forget_pulled(id);  // whoever made it had it before
  return named;
}

std::string SnapshotDirectory::snapshot_path(const SnapshotId& id) const {
  return path_ + "/snapshots/" + id.hex() + std::string(kSuffix);
}

std::string SnapshotDirectory::pulled_path(const SnapshotId& id) const {
  return path_ + "/pulled/" + id.hex();
}

bool SnapshotDirectory::is_pulled(const SnapshotId& id) const {
  return ::access(pulled_path(id).c_str(), F_OK) == 0;
}

void SnapshotDirectory::forget_pulled(const SnapshotId& id) const {
  ::unlink(pulled_path(id).c_str());  // most have none
}

std::string SnapshotDirectory::image_path(const Sha256& content) const {
  return path_ + "/images/" + content.hex();
}

bool SnapshotDirectory::has_image(const Sha256& content) const {
  return ::access(image_path(content).c_str(), R_OK) == 0;
}

Result<SnapshotDirectory::StoredImage> SnapshotDirectory::add_image_file(const std::string& path) const {
  Fd from = open_code(path);
  if (!from.open()) return system_error("cannot read the image " + path);
  return add_image(from, path);
}

Result<SnapshotDirectory::StoredImage> SnapshotDirectory::add_image(const Fd& from, const std::string& name) const {
  auto path = draft();
  if (!path) return path.error();
  Fd to(::open(path->c_str(), O_WRONLY | O_CLOEXEC));
  if (!to.open()) return system_error("cannot write " + *path);
  auto stored = copy_hashed(from, to, name);
  Result<> named = stored ? rename_file(*path, image_path(stored->content)) : Result<>(stored.error());
  if (named) return stored;
  ::unlink(path->c_str());
  return named.error();
}

Result<SnapshotDirectory::StoredImage> SnapshotDirectory::add_image_bytes(std::string_view bytes) const {
  const StoredImage stored{sha256(bytes), bytes.size()};
  auto kept = keep(image_path(stored.content), bytes);
  if (!kept) return kept.error();
  return stored;
}

Result<> SnapshotDirectory::keep(const std::string& path, std::string_view bytes) const {
  auto fresh = draft();
  if (!fresh) return fresh.error();
  Fd to(::open(fresh->c_str(), O_WRONLY | O_CLOEXEC));
  if (!to.open()) return system_error("cannot write " + *fresh);
  auto written = write_whole(to.get(), bytes, "cannot write " + path);
  // Otherwise a power cut could leave the name with a part of the bytes, and readers trust the name.
  if (written && ::fdatasync(to.get()) != 0) written = system_error("cannot sync " + path);
  if (written) written = rename_file(*fresh, path);
  if (!written) ::unlink(fresh->c_str());
  return written;
}

Result<SnapshotFile> SnapshotDirectory::open_snapshot(const SnapshotId& id) const {
  const std::string path = snapshot_path(id);
  if (::access(path.c_str(), F_OK) != 0) {
    return not_found("there is no snapshot " + id.hex() + " in " + path_ +
                     "; `fathom snapshot list` shows those that are");
  }
  return SnapshotFile::open(path);
}

Result<std::vector<SnapshotId>> SnapshotDirectory::list() const {
  std::error_code code;
  std::vector<Dated> found;
  for (const auto& entry : fs::directory_iterator(path_ + "/snapshots", code)) {
    std::error_code gone;
    const auto written = entry.last_write_time(gone);
    const auto id = id_of(entry.path());
    if (id && !gone) found.push_back({written, *id});
  }
  if (code) return file_error("cannot list " + path_, code);
  std::ranges::sort(found, std::greater<>(), &Dated::written);
  std::vector<SnapshotId> ids;
  for (const Dated& dated : found) ids.push_back(dated.id);
  return ids;
}

Result<SnapshotId> SnapshotDirectory::find(std::string_view text) const {
  auto ids = list();
  if (!ids) return ids.error();
  if (text == "last") {
    if (ids->empty())
      return not_found("there is no snapshot in " + path_ + " yet; `fathom record -- COMMAND` makes one");
    const auto own = std::ranges::find_if(*ids, [this](const SnapshotId& id) { return !is_pulled(id); });
    return own == ids->end() ? ids->front() : *own;
  }
  if (text.size() < 4) {
    return invalid(
        "a snapshot's id has at least 4 characters; 'last' is the newest that was recorded or imported here");
  }
  std::erase_if(*ids, [&](const SnapshotId& id) { return !begins_with(id, text); });
  if (ids->size() == 1) return ids->front();
  if (ids->empty()) {
    return not_found("there is no snapshot '" + std::string(text) + "' in " + path_ +
                     "; `fathom snapshot list` shows those that are");
  }
  return invalid("'" + std::string(text) + "' begins the ids of " + std::to_string(ids->size()) +
                 " snapshots; write more of it");
}

std::optional<std::string> SnapshotDirectory::result(const std::string& key) const {
  Fd file(::open((path_ + "/results/" + key).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return std::nullopt;
  return read_kept_answer(file);
}

Result<> SnapshotDirectory::keep_result(const std::string& key, std::string_view answer) const {
  return keep(path_ + "/results/" + key, kept_answer_head(answer) + std::string(answer));
}

}  // namespace fathom::snapshot
