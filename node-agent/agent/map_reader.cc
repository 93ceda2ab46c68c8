#include "node-agent/agent/map_reader.h"

#include <atomic>
#include <cassert>
#include <system_error>
#include <thread>
#include <utility>

namespace fathom::agent {

struct MapReader::Answer {
  std::optional<bool> maps;
  std::atomic<bool> there{false};
};

MapReader::MapReader(Look look) : look_(std::move(look)) {}

void MapReader::ask(pid_t pid, uint64_t inode, uint64_t now_nano, Done done) {
  assert(idle());
  done_ = std::move(done);
  asked_nano_ = now_nano;
  answer_ = std::make_shared<Answer>();
  auto read = [look = look_, pid, inode, answer = answer_] {
    answer->maps = look(pid, inode);
    answer->there = true;
  };
  try {
    std::thread(std::move(read)).detach();
  } catch (const std::system_error&) {
    answer_->there = true;  // nothing is known; it is asked for again
  }
}

void MapReader::poll() {
  if (!done_ || !answer_->there) return;
  std::exchange(done_, nullptr)(answer_->maps);
}

}  // namespace fathom::agent
