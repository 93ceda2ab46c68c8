// What a figure was measured on, and what its disk can do. Errors: what cannot be found out is said to be unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench/latencies.h"

namespace fathom::bench {

struct Machine {
  std::string cpu;
  unsigned cores = 0;
  uint64_t memory_mib = 0;
  std::string kernel;
  std::string disk;  // file system and device of the data directory
  std::string line() const;
};
Machine describe_machine(const std::string& data_directory);

// Bytes on disk below a directory. What a file has allocated beyond its end (engines do that to their write-ahead logs)
// stands apart: it holds nothing.
struct DiskUse {
  uint64_t bytes = 0;               // allocated, up to each file's end
  uint64_t wal_bytes = 0;           // of these, in *.log
  uint64_t preallocated_bytes = 0;  // beyond it
};
DiskUse disk_use(const std::string& directory);

// Appends to a file and makes each append durable, to compare a server's acknowledgements with.
class SyncedFile {
 public:
  explicit SyncedFile(const std::string& directory);
  ~SyncedFile();  // removes the file
  SyncedFile(const SyncedFile&) = delete;
  SyncedFile& operator=(const SyncedFile&) = delete;
  // The duration of the append and its fdatasync; nothing if either failed.
  std::optional<uint64_t> append_nano(size_t bytes);

 private:
  const std::string path_;
  const int fd_;
  std::string data_;
};

// `count` times: append `bytes`, then fdatasync; the latency of both together.
Latencies measure_fdatasync(const std::string& directory, int count, size_t bytes);

}  // namespace fathom::bench
