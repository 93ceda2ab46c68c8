#include "snapshot/source/source_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/whole_io.h"

namespace fathom::snapshot {

namespace {

constexpr uint64_t kMostKeptBytes = 64 << 20;
constexpr size_t kMostKeptFiles = 200;  // each is looked at when one is looked for
constexpr size_t kMostNameBytes = 4096;

// Without "." and "//", and without ".." but at the begin: "" where it is no name of a file.
std::string plain_name(const std::string& name) {
  if (name.empty() || name.size() > kMostNameBytes || name.find('\0') != std::string::npos) return "";
  std::string plain = std::filesystem::path(name).lexically_normal().string();
  return plain.ends_with('/') ? "" : plain;
}

std::string directory_name(const std::string& name) {
  std::string plain = std::filesystem::path(name).lexically_normal().string();
  while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return plain;
}

bool leads_up(std::string_view name) {
  return name == ".." || name.starts_with("../");
}

// "*/shop" is of whatever directory it was built in: clones and containers differ in nothing else.
std::optional<std::string> below_anywhere(const std::string& name, std::string_view from) {
  const std::string directory = std::string(from) + "/";
  const size_t at = ("/" + name).rfind(directory);
  if (at == std::string::npos) return std::nullopt;
  return name.substr(at + directory.size() - 1);
}

// What of the name follows FROM; nothing where it begins otherwise. FROM may lead up, as "../.." does in a build of a
// directory within the sources; what follows it may not.
std::optional<std::string> below(const std::string& name, const std::string& from) {
  if (from.starts_with("*/")) return below_anywhere(name, std::string_view(from).substr(1));
  if (from == ".") return name.starts_with('/') || leads_up(name) ? std::nullopt : std::optional(name);
  if (from == "/") return name.starts_with('/') ? std::optional(name.substr(1)) : std::nullopt;
  if (!name.starts_with(from) || name.size() <= from.size() || name[from.size()] != '/') return std::nullopt;
  std::string rest = name.substr(from.size() + 1);
  return leads_up(rest) ? std::nullopt : std::optional(std::move(rest));
}

// Where openat2 is missing or forbidden: one part of the name after the other, and no link is followed. What follows a
// link or a file is not found, and the last part is checked by whoever reads it.
Fd find_without_links(Fd at, std::string_view name) {
  while (at.open() && !name.empty()) {
    const size_t slash = std::min(name.find('/'), name.size());
    const std::string part(name.substr(0, slash));
    name.remove_prefix(std::min(slash + 1, name.size()));
    at = Fd(::openat(at.get(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  }
  return at;
}

// A path alone: nothing happens to a device or a pipe that is not read.
Fd find_below(const std::string& directory, const std::string& name) {
  Fd root(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  // Below "/" lies everything, and links to "/..." stay below it.
  how.resolve = RESOLVE_NO_MAGICLINKS | (directory == "/" ? RESOLVE_IN_ROOT : RESOLVE_BENEATH);
  Fd found(static_cast<int>(::syscall(SYS_openat2, root.get(), name.c_str(), &how, sizeof how)));
  return found.open() || errno != ENOSYS ? std::move(found) : find_without_links(std::move(root), name);
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

SourceOpener& source_opener() {
  static SourceOpener opener;
  return opener;
}

// What was found as a path. An opener finds it by its name, which may lead elsewhere by then.
Fd open_found(const Fd& file, const std::string& path, const struct stat& about) {
  Fd opened(::open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (opened.open() || errno != EACCES || !source_opener()) return opened;
  opened = source_opener()(path);
  struct stat now {};
  if (opened.open() && (::fstat(opened.get(), &now) != 0 || !is_same(now, about))) {
    opened.close();
    errno = ESTALE;
  }
  return opened;
}

// At most `most` bytes, and no half of a character at their end.
std::string_view cut(std::string_view line, size_t most) {
  if (line.size() <= most) return line;
  while (most > 0 && (static_cast<unsigned char>(line[most]) & 0xc0) == 0x80) --most;
  return line.substr(0, most);
}

Error not_allowed(const std::string& file) {
  return not_found("no directory is named that '" + file +
                   "' lies below; --source-dir FROM=TO says where sources are: FROM as its name begins, TO here");
}

}  // namespace

class SourceFiles::Content {
 public:
  Content(const struct stat& about, std::string bytes) : about_(about), bytes_(std::move(bytes)) {
    for (size_t at = 0; at < bytes_.size(); at = bytes_.find('\n', at) + 1) {
      begins_.push_back(static_cast<uint32_t>(at));
      if (bytes_.find('\n', at) == std::string::npos) break;
    }
  }

  bool is_of(const struct stat& about) const { return is_same(about_, about); }
  uint64_t cost_bytes() const { return bytes_.size() + begins_.size() * sizeof(uint32_t); }
  size_t lines() const { return begins_.size(); }
  std::string line(size_t number) const {
    const size_t begin = begins_[number - 1];
    std::string_view text = std::string_view(bytes_).substr(begin, bytes_.find('\n', begin) - begin);
    if (text.ends_with('\r')) text.remove_suffix(1);
    return std::string(cut(text, kMostLineBytes));
  }

 private:
  const struct stat about_;
  const std::string bytes_;
  std::vector<uint32_t> begins_;  // of lines
};

Result<SourceDirectory> parse_source_directory(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string from = text.substr(0, equals);
  const std::string to = equals == std::string::npos ? text : text.substr(equals + 1);
  if (from.empty() || to.empty() || !to.starts_with('/')) {
    return invalid(
        "'" + text +
        "' is no FROM=TO or DIR: FROM is how names of source files begin ('*/src' begins anywhere; '.' is for those "
        "that are relative), TO and DIR are directories here and begin with '/'");
  }
  return SourceDirectory{directory_name(from), directory_name(to)};
}

Result<std::vector<SourceDirectory>> parse_source_directories(const std::vector<std::string>& texts) {
  std::vector<SourceDirectory> directories;
  for (const std::string& text : texts) {
    auto parsed = parse_source_directory(text);
    if (!parsed) return parsed.error();
    directories.push_back(*std::move(parsed));
  }
  return directories;
}

void set_source_opener(SourceOpener opener) {
  source_opener() = std::move(opener);
}

SourceFiles::SourceFiles(std::vector<SourceDirectory> directories) : directories_(std::move(directories)) {}
SourceFiles::~SourceFiles() = default;

Result<SourceText> SourceFiles::text(const std::string& file, uint32_t line, uint32_t context) const {
  auto found = content(file);
  if (!found) return found.error();
  const size_t all = (*found)->lines();
  if (line == 0 || line > all) {
    return not_found("'" + file + "' has " + std::to_string(all) + " lines here, and no line " + std::to_string(line) +
                     ": it is not the one that was compiled; --source-dir FROM=TO names another");
  }
  SourceText text{line - std::min(line - 1, context), {}};
  const size_t last = std::min<uint64_t>(all, uint64_t{line} + context);
  for (size_t number = text.first_line; number <= last; ++number) text.lines.push_back((*found)->line(number));
  return text;
}

Result<SourceFiles::SharedContent> SourceFiles::content(const std::string& file) const {
  const std::string name = plain_name(file);
  std::optional<Error> problem;
  for (const SourceDirectory& directory : directories_) {
    const auto rest = name.empty() ? std::nullopt : below(name, directory.from);
    if (!rest) continue;
    const Fd found = find_below(directory.to, *rest);
    struct stat about {};
    if (found.open() && ::fstat(found.get(), &about) == 0 && S_ISREG(about.st_mode)) {
      if (auto same = known(about)) return same;
      return read(found, (directory.to == "/" ? "" : directory.to) + "/" + *rest, about);
    }
    problem = not_found("there is no file '" + *rest + "' below " + directory.to + ", where --source-dir " +
                        directory.from + "=" + directory.to + " has '" + file + "' looked for");
  }
  return problem ? *problem : not_allowed(file);
}

Result<SourceFiles::SharedContent> SourceFiles::read(const Fd& file, const std::string& path,
                                                     const struct stat& about) const {
  const auto size = static_cast<uint64_t>(about.st_size);
  if (size > kMostSourceBytes) {
    return exhausted("this source file is larger than " + std::to_string(kMostSourceBytes >> 20) + " MiB");
  }
  const Fd opened = open_found(file, path, about);
  if (!opened.open()) return system_error("a source file cannot be read");
  std::string bytes(size, '\0');
  auto got = read_whole(opened.get(), 0, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()},
                        "a source file cannot be read");
  if (!got) return got.error();
  auto content = std::make_shared<const Content>(about, std::move(bytes));
  keep(content);
  return content;
}

SourceFiles::SharedContent SourceFiles::known(const struct stat& about) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(kept_, [&](const SharedContent& one) { return one->is_of(about); });
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found);
  return kept_.front();
}

void SourceFiles::keep(SharedContent content) const {
  const std::lock_guard lock(mutex_);
  kept_.push_front(std::move(content));
  if (kept_.size() > kMostKeptFiles) kept_.pop_back();
  uint64_t bytes = 0;
  const auto first_beyond = std::ranges::find_if(
      kept_, [&](const SharedContent& one) { return (bytes += one->cost_bytes()) > kMostKeptBytes; });
  kept_.erase(first_beyond, kept_.end());
}

}  // namespace fathom::snapshot
