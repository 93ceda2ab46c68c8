#include "cli/snapshot_files_here.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/whole_io.h"

namespace fathom::cli {

std::string SharedContent::path_in(const std::string& directory) const {
  return directory + (is_image ? "/images/" + hex : "/snapshots/" + hex + ".snapshot");
}

std::string SharedContent::pulled_path_in(const std::string& directory) const {
  return directory + "/pulled/" + hex;
}

std::string SharedContent::api_path() const {
  return (is_image ? "/api/v1/images/" : "/api/v1/snapshots/") + hex + "/bytes";
}

bool is_here(const std::string& directory, const SharedContent& content) {
  return ::access(content.path_in(directory).c_str(), R_OK) == 0;
}

Result<> make_snapshot_directory(const std::string& directory) {
  const mode_t before = ::umask(077);
  std::error_code code;
  for (const char* part : {"/snapshots", "/images", "/results", "/drafts", "/pulled"}) {
    if (!code) std::filesystem::create_directories(directory + part, code);
  }
  ::umask(before);
  if (code) return internal("cannot make the directory " + directory + ": " + code.message());
  return {};
}

Result<Draft> Draft::begin(const std::string& directory) {
  if (auto made = make_snapshot_directory(directory); !made) return made.error();
  std::string path = directory + "/drafts/XXXXXX";
  Fd file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file.open()) return system_error("cannot write in " + directory);
  return Draft(std::move(path), std::move(file));
}

// A published one has another name by now.
Draft::~Draft() {
  if (file_.open()) ::unlink(path_.c_str());
}

Result<> Draft::append(std::string_view bytes) {
  if (auto written = write_whole(file_.get(), bytes, "cannot write " + path_); !written) return written;
  hasher_.add(bytes);
  size_ += bytes.size();
  return {};
}

Result<> Draft::publish(const std::string& directory, const SharedContent& content) {
  if (!hasher_.finish().hex().starts_with(content.hex)) {
    return corrupt("what came under the name " + content.hex + " is something else; the server's copy is damaged");
  }
  const std::string path = content.path_in(directory);
  if (::fsync(file_.get()) != 0) return system_error("cannot sync " + path_);
  // Before it can be found.
  const bool noted = content.is_image ||
                     Fd(::open(content.pulled_path_in(directory).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)).open();
  if (!noted) return system_error("cannot write in " + directory);
  if (::rename(path_.c_str(), path.c_str()) != 0) return system_error("cannot name " + path);
  return {};
}

}  // namespace fathom::cli
