#include "client/detail/file.h"

#include <unistd.h>

#include "client/fork.h"
#include "client/pool_memory.h"
#include "client/process.h"

namespace fathom::client::detail {
namespace {

// A file as one word, so that its number and its identity are published together: bits 0-31 the descriptor plus one,
// 32-63 the inode's lower half. Programs may close what they do not know, and get the same number for something else.
uint64_t word_of(int fd) {
  return file_identity(fd).inode << 32 | static_cast<uint32_t>(fd + 1);
}
int fd_of(uint64_t word) {
  return static_cast<int>(static_cast<uint32_t>(word)) - 1;
}
bool is_still_there(uint64_t word) {
  return word != 0 && word_of(fd_of(word)) == word;
}

// Of this process, or of its parent until that is left.
constinit std::atomic<uint64_t> known_file{0};

}  // namespace

int ensure_file() {
  std::atomic<uint64_t>& file = live().recorder.file;
  uint64_t there = file.load(std::memory_order_acquire);
  if (there != 0) return is_still_there(there) ? fd_of(there) : -1;
  const int made = make_memory_file("fathom-detail", file_bytes());
  if (made < 0) return -1;
  const uint64_t word = word_of(made);
  if (file.compare_exchange_strong(there, word, std::memory_order_acq_rel)) {
    known_file.store(word, std::memory_order_relaxed);
    return made;
  }
  close(made);
  return is_still_there(there) ? fd_of(there) : -1;
}

bool holds_pool(int fd) {
  return live().recorder.fd_plus_one.load(std::memory_order_acquire) != 0 && file_identity(fd) == detail_pool_file();
}

void leave_parents_file() {
  const uint64_t word = known_file.exchange(0, std::memory_order_relaxed);
  if (is_still_there(word)) close(fd_of(word));
}

void void_reader() {
  if (pool::DetailHeader* header = current_view().header) header->reader.fetch_add(1, std::memory_order_release);
}

}  // namespace fathom::client::detail
