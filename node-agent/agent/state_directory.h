// StateDirectory: what an agent keeps on disk about its host: the node's id and key, and a lock against a second agent.
//
// Purpose: the id is made once, at random, and is the same for the life of an installation; so is the key, a secret by
// which the collector knows that this is the node. (A machine that is cloned with this directory has its original's id
// and key; delete the directory in images.) Thread safety: none. Ownership: the lock,
// until it dies. Errors: kUnavailable when another agent holds the directory, kInvalid when others own it or may write
// to it, kCorrupt when the id is none, kInternal with the system's words.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::agent {

class StateDirectory {
 public:
  static Result<StateDirectory> open(const std::string& path);

  const std::array<uint8_t, 16>& node_id() const { return node_id_; }
  const std::array<uint8_t, 32>& node_key() const { return node_key_; }
  const std::string& path() const { return path_; }
  std::string spool() const { return path_ + "/spool"; }
  std::string snapshots() const { return path_ + "/snapshots"; }

 private:
  StateDirectory(std::string path, Fd lock, const std::array<uint8_t, 16>& node_id,
                 const std::array<uint8_t, 32>& node_key)
      : path_(std::move(path)), lock_(std::move(lock)), node_id_(node_id), node_key_(node_key) {}

  std::string path_;
  Fd lock_;
  std::array<uint8_t, 16> node_id_;
  std::array<uint8_t, 32> node_key_;
};

// 16 random bytes that are not all zero.
std::array<uint8_t, 16> random_id();
// Of this boot of this host; zeros where the kernel does not say.
std::array<uint8_t, 16> boot_id();

}  // namespace fathom::agent
