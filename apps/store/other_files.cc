#include "apps/store/other_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <vector>

#include "base/fd.h"
#include "base/sha256.h"
#include "base/small_file.h"
#include "base/whole_io.h"
#include "collector/agents/node_keys.h"
#include "collector/control/rules_file.h"
#include "net/tokens.h"
#include "redact/key_file.h"
#include "snapshot/format/directory.h"
#include "snapshot/format/kept_answer.h"
#include "store/clock/age_state.h"
#include "store/verify/stored_clock.h"

namespace fathom {

namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = 1 << 20;
constexpr uint64_t kMostMetadata = 16 << 20;  // as the server takes
constexpr const char* kRules = "tracepoint-rules";
constexpr const char* kClock = "clock";
constexpr const char* kQueryToken = "query-token";

std::string snapshots_of(const std::string& data) {
  return data + "/server-snapshots";
}

// Regular files, by name.
std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    std::error_code ignored;
    if (entry.is_regular_file(ignored)) names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

using VisitFilePiece = std::function<Result<>(std::string_view piece)>;

Result<Sha256> hash_file(const std::string& path, const VisitFilePiece& visit = {}) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return system_error("cannot open " + path);
  Sha256Hasher hasher;
  std::string piece(kPieceBytes, '\0');
  for (;;) {
    const ssize_t size = ::read(file.get(), piece.data(), piece.size());
    if (size < 0) return system_error("cannot read " + path);
    if (size == 0) return hasher.finish();
    const std::string_view bytes(piece.data(), static_cast<size_t>(size));
    hasher.add(bytes);
    if (Result<> visited = visit ? visit(bytes) : Result<>(); !visited) return visited.error();
  }
}

// A file's name is its SHA-256, or the first half of it.
Result<> check_hash(const std::string& path, const std::string& hex) {
  Result<Sha256> hash = hash_file(path);
  if (!hash) return hash.error();
  if (hash->hex().starts_with(hex)) return {};
  return corrupt("it has the SHA-256 " + hash->hex() + ", which is not its name");
}

Result<> check_snapshot(const std::string& path) {
  const std::string hex = fs::path(path).stem();
  if (!snapshot::SnapshotId::from_hex_text(hex)) return corrupt("its name is no id of a snapshot");
  if (Result<> named = check_hash(path, hex); !named) return named;
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return system_error("cannot open " + path);
  auto opened = snapshot::SnapshotFile::open(std::move(file), kMostMetadata);
  return opened ? Result<>() : Result<>(opened.error());
}

Result<> check_image(const std::string& path) {
  const std::string hex = fs::path(path).filename();
  if (!Sha256::from_hex_text(hex)) return corrupt("its name is no SHA-256");
  return check_hash(path, hex);
}

Result<> check_result(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return system_error("cannot open " + path);
  return snapshot::read_kept_answer(file) ? Result<>() : Result<>(corrupt("its hash is wrong; it is worked out again"));
}

Result<> check_rules(const std::string& data) {
  Result<collector::TracepointRules> rules = collector::read_rules(data);
  return rules ? Result<>() : Result<>(rules.error());
}

Result<> check_clock(const std::string& data) {
  Result<std::string> bytes = read_small_file(data + "/" + kClock, store::kMostAgeStateBytes);
  if (!bytes) return bytes.error();
  Result<store::AgeState> state = store::decode_age_state(*bytes);
  return state ? Result<>() : Result<>(state.error());
}

Result<> check_query_token(const std::string& data) {
  const auto tokens = net::read_tokens(data + "/" + kQueryToken);
  return tokens ? Result<>() : Result<>(tokens.error());
}

Result<> check_redact_key(const std::string& data) {
  const auto key = read_redact_key(data + "/" + kRedactKeyFile);
  return key ? Result<>() : Result<>(key.error());
}

bool is_never_required(const std::string&) {
  return false;
}

struct SmallFile {
  const char* name;
  const char* part;
  Result<> (*check)(const std::string& data);
  bool (*is_required)(const std::string& data) = is_never_required;
  bool copied_damaged = false;
};
constexpr SmallFile kSmallFiles[] = {{kRules, "tracepoint rules", check_rules},
                                     {kClock, "age clock", check_clock, store::must_have_clock, true},
                                     // Without them the server would answer everybody, and accept every agent.
                                     {kQueryToken, "query token", check_query_token, is_never_required, true},
                                     // With a new key, equal values would get other hashes than before.
                                     {kRedactKeyFile, "redaction key", check_redact_key, is_never_required, true},
                                     {"node-keys", "node keys", collector::check_node_keys, is_never_required, true}};

// Whether the file is there and may be copied.
bool check_small_file(const std::string& data, const SmallFile& file, store::Findings& findings) {
  const std::string path = data + "/" + file.name;
  const bool is_there = fs::exists(path);
  if (!is_there && !file.is_required(data)) return false;
  findings.checked(file.part);
  const Result<> checked = is_there ? file.check(data) : Result<>(corrupt("the file is missing"));
  if (!checked) findings.damaged({file.part, path, checked.error().message});
  return is_there && (checked.ok() || file.copied_damaged);
}

struct Folder {
  const char* name;
  const char* part;
  Result<> (*check)(const std::string& path);
  bool copied = true;
};
constexpr Folder kFolders[] = {{"/snapshots", "snapshots", check_snapshot},
                               {"/images", "snapshot images", check_image},
                               {"/results", "kept answers", check_result, false}};

Result<> copy_file(const std::string& from, const std::string& to) {
  Fd file(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.open()) return system_error("cannot make " + to);
  Result<Sha256> copied =
      hash_file(from, [&](std::string_view piece) { return write_whole(file.get(), piece, "cannot write " + to); });
  if (!copied) return copied.error();
  struct stat about {};
  if (::stat(from.c_str(), &about) != 0) return system_error("cannot inspect " + from);
  const struct timespec times[2] = {about.st_atim, about.st_mtim};
  return ::futimens(file.get(), times) == 0 ? Result<>() : Result<>(system_error("cannot set the times of " + to));
}

// Calls `keep` with each intact file.
void check_folder(const std::string& data, const Folder& folder, store::Findings& findings,
                  const std::function<void(const std::string& name)>& keep) {
  const std::string directory = snapshots_of(data) + folder.name;
  for (const std::string& name : names_in(directory)) {
    const std::string path = directory + "/" + name;
    std::error_code ignored;
    findings.checked(folder.part);
    Result<> checked = folder.check(path);
    if (checked) keep(name);
    if (!checked) findings.damaged({folder.part, path, checked.error().message});
    findings.read_bytes(fs::file_size(path, ignored));
  }
}

Result<> copy_folder(const std::string& from, const std::string& to, const Folder& folder, store::Findings& findings) {
  const std::string source = snapshots_of(from) + folder.name, target = snapshots_of(to) + folder.name;
  std::error_code error;
  if (!fs::is_directory(source, error)) return {};
  fs::create_directories(target, error);
  if (error) return internal("cannot make " + target + ": " + error.message());
  Result<> copied;
  check_folder(from, folder, findings, [&](const std::string& name) {
    if (copied) copied = copy_file(source + "/" + name, target + "/" + name);
  });
  return copied;
}

// A new directory has the clock of an older version, whose stamps are Unix times. Without a clock, a server assumes no
// time off.
Result<> copy_small_file(const std::string& from, const std::string& to, const SmallFile& file,
                         store::Findings& findings) {
  const std::string target = to + "/" + file.name;
  const bool is_copied = check_small_file(from, file, findings);
  std::error_code error;
  if (is_copied || file.is_required(from)) fs::remove(target, error);
  return is_copied ? copy_file(from + "/" + file.name, target) : Result<>();
}

}  // namespace

uint64_t snapshot_bytes(const std::string& data) {
  uint64_t bytes = 0;
  for (const Folder& folder : kFolders) {
    for (const std::string& name : names_in(snapshots_of(data) + folder.name)) {
      std::error_code error;
      const uint64_t size = fs::file_size(snapshots_of(data) + folder.name + "/" + name, error);
      if (!error) bytes += size;
    }
  }
  return bytes;
}

void check_other_files(const std::string& data, store::Findings& findings) {
  for (const Folder& folder : kFolders) check_folder(data, folder, findings, [](const std::string&) {});
  for (const SmallFile& file : kSmallFiles) check_small_file(data, file, findings);
}

Result<> copy_other_files(const std::string& from, const std::string& to, store::Findings& findings) {
  for (const Folder& folder : kFolders) {
    if (!folder.copied) continue;
    if (Result<> copied = copy_folder(from, to, folder, findings); !copied) return copied;
  }
  for (const SmallFile& file : kSmallFiles) {
    if (Result<> copied = copy_small_file(from, to, file, findings); !copied) return copied;
  }
  return {};
}

}  // namespace fathom
