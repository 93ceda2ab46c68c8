#include "query/snapshots/results_sweep.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/time.h"

namespace fathom::query {

namespace {

struct KeptFile {
  std::string path;
  uint64_t bytes = 0;
  uint64_t written_unix_nano = 0;
};

// ID-..., or ID-ID-...: those of one that is not stored any more are of no use.
bool is_of_stored(std::string_view name, const SweepRules& rules) {
  constexpr size_t kDigits = 2 * sizeof(SnapshotId);
  while (name.size() > kDigits && name[kDigits] == '-') {
    auto id = SnapshotId::from_hex_text(name.substr(0, kDigits));
    if (!id) return true;
    if (!rules.is_stored(*id)) return false;
    name.remove_prefix(kDigits + 1);
  }
  return true;
}

bool remove_file(const std::string& path) {
  return ::unlink(path.c_str()) == 0;
}

// Those that may stay, as far as their name says.
std::vector<KeptFile> first_pass(const std::string& directory, const SweepRules& rules, Swept& swept) {
  std::vector<KeptFile> kept;
  std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(directory.c_str()), ::closedir);
  while (const dirent* entry = opened == nullptr ? nullptr : ::readdir(opened.get())) {
    const std::string name = entry->d_name;
    const std::string path = directory + "/" + name;
    struct stat about {};
    if (::lstat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
    const auto written = static_cast<uint64_t>(about.st_mtim.tv_sec) * kNanosPerSecond;
    if (!is_of_stored(name, rules)) {
      swept.dropped += remove_file(path);
    } else {
      kept.push_back({path, static_cast<uint64_t>(about.st_size), written});
    }
  }
  return kept;
}

}  // namespace

Swept sweep_results(const std::string& directory, const SweepRules& rules) {
  Swept swept;
  std::vector<KeptFile> kept = first_pass(directory, rules, swept);
  for (const KeptFile& file : kept) swept.kept_bytes += file.bytes;
  std::ranges::sort(kept, {}, &KeptFile::written_unix_nano);
  for (const KeptFile& file : kept) {
    if (swept.kept_bytes <= rules.most_bytes) break;
    if (!remove_file(file.path)) continue;
    swept.kept_bytes -= file.bytes;
    ++swept.dropped;
  }
  return swept;
}

}  // namespace fathom::query
