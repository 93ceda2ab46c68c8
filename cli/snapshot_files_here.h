// The directory of snapshots on this host, as far as moving them needs it: places, drafts that become files.
//
// Thread safety: one thread per draft. Ownership: a draft that was not published goes with its object. Errors:
// kInternal with the system's words; kCorrupt for content that is not what its name says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "base/sha256.h"

namespace fathom::cli {

// What is moved: a snapshot by its id (the beginning of its SHA-256), or an image by its whole SHA-256, in hex.
struct SharedContent {
  bool is_image = false;
  std::string hex;

  std::string path_in(const std::string& directory) const;
  // An empty file that says that a snapshot came from a server, so that 'last' stays what it was.
  std::string pulled_path_in(const std::string& directory) const;
  std::string api_path() const;  // where the server has its bytes
};

bool is_here(const std::string& directory, const SharedContent& content);
// Makes what is missing of the directory, readable by its owner alone.
Result<> make_snapshot_directory(const std::string& directory);

class Draft {
 public:
  static Result<Draft> begin(const std::string& directory);
  Draft(Draft&& other) noexcept = default;
  ~Draft();

  Result<> append(std::string_view bytes);
  uint64_t size() const { return size_; }
  // Gives it its place, if its hash is its name; a snapshot is noted as pulled.
  Result<> publish(const std::string& directory, const SharedContent& content);

 private:
  Draft(std::string path, Fd file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  Fd file_;
  Sha256Hasher hasher_;
  uint64_t size_ = 0;
};

}  // namespace fathom::cli
