#include "node-agent/capture/node_threads.h"

#include <dirent.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>

namespace fathom::agent {

namespace {

// 0: not a number.
uint32_t number_of(std::string_view text) {
  uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

uint32_t innermost_number(const std::string& status_path) {
  std::ifstream status(status_path);
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream numbers(line.substr(6));
    uint32_t innermost = 0;
    for (uint32_t number = 0; numbers >> number;) innermost = number;
    return innermost;
  }
  return 0;
}

// Lists a directory from a position() that an earlier Listing of the same directory returned.
class NodeThreads::Listing {
 public:
  Listing(const std::string& path, long position) : directory_(::opendir(path.c_str())) {
    if (directory_ && position != 0) ::seekdir(directory_.get(), position);
  }
  bool is_open() const { return directory_ != nullptr; }
  // Null: at the end, or after an error, see fault().
  const dirent* next() {
    errno = 0;
    const dirent* entry = ::readdir(directory_.get());
    fault_ = entry == nullptr && errno != 0;
    return entry;
  }
  bool fault() const { return fault_; }
  long position() const { return ::telldir(directory_.get()); }

 private:
  struct Close {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };
  std::unique_ptr<DIR, Close> directory_;
  bool fault_ = false;
};

NodeThreads::NodeThreads(pid_t pid, uint32_t own_pid, const std::string& proc)
    : tasks_(proc + "/" + std::to_string(pid) + "/task/"),
      has_same_numbers_(pid > 0 && own_pid == static_cast<uint32_t>(pid)) {}

std::optional<uint32_t> NodeThreads::find(uint32_t program_tid) const {
  if (has_same_numbers_) return program_tid;
  for (const auto* tids : {&node_tids_, &ended_tids_}) {
    if (auto found = tids->find(program_tid); found != tids->end()) return found->second;
  }
  return std::nullopt;
}

bool NodeThreads::needs_look(uint32_t program_tid, uint64_t now_nano) const {
  if (has_same_numbers_) return false;
  const bool is_trusted = known_nano_ && now_nano - *known_nano_ <= kTrustedNano;
  return !is_trusted || !find(program_tid);
}

void NodeThreads::look(uint64_t now_nano, const std::function<bool()>& may_go_on, size_t most_listed) {
  if (has_same_numbers_) return;
  forget_ended(now_nano);
  Listing listing(tasks_, position_);
  if (listing.is_open()) list(listing, now_nano, may_go_on, most_listed);
}

void NodeThreads::list(Listing& listing, uint64_t now_nano, const std::function<bool()>& may_go_on,
                       size_t most_listed) {
  if (position_ == 0) {
    ++pass_;
    pass_began_nano_ = now_nano;
  }
  for (size_t count = 0; count < most_listed; ++count) {
    const dirent* entry = listing.next();
    if (entry == nullptr) {
      position_ = 0;
      if (!listing.fault()) end_pass(now_nano);
      return;
    }
    if (const uint32_t node_tid = number_of(entry->d_name); node_tid != 0) listed(node_tid, entry->d_ino, now_nano);
    if (!may_go_on()) break;
  }
  position_ = listing.position();
}

void NodeThreads::listed(uint32_t node_tid, uint64_t inode, uint64_t now_nano) {
  const auto known = living_.find(node_tid);
  if (known != living_.end() && known->second.inode == inode) {
    known->second.pass = pass_;
    return;
  }
  if (known != living_.end()) {
    note_end(node_tid, known->second, now_nano);
    living_.erase(known);
  }
  if (living_.size() < kMostThreads) add(node_tid, inode);
}

// If the file cannot be read, the next listing of the thread tries again.
void NodeThreads::add(uint32_t node_tid, uint64_t inode) {
  const uint32_t program_tid = innermost_number(tasks_ + std::to_string(node_tid) + "/status");
  if (program_tid == 0) return;
  living_[node_tid] = {program_tid, inode, pass_};
  // If the program reuses a number, it belongs to the later thread.
  node_tids_.insert_or_assign(program_tid, node_tid);
}

// Threads that a complete pass did not list have ended.
void NodeThreads::end_pass(uint64_t now_nano) {
  known_nano_ = pass_began_nano_;
  std::erase_if(living_, [&](const auto& entry) {
    const bool has_ended = entry.second.pass != pass_;
    if (has_ended) note_end(entry.first, entry.second, now_nano);
    return has_ended;
  });
}

void NodeThreads::note_end(uint32_t node_tid, const Thread& thread, uint64_t now_nano) {
  const auto known = node_tids_.find(thread.program_tid);
  if (known != node_tids_.end() && known->second == node_tid) node_tids_.erase(known);
  if (ended_.size() == kMostEnded) forget_first_ended();
  ended_.push_back({thread.program_tid, node_tid, now_nano});
  ended_tids_.insert_or_assign(thread.program_tid, node_tid);
}

void NodeThreads::forget_ended(uint64_t now_nano) {
  while (!ended_.empty() && now_nano - ended_.front().ended_nano > kEndedNano) forget_first_ended();
}

// A later thread with the same number stays known.
void NodeThreads::forget_first_ended() {
  const Ended& first = ended_.front();
  const auto known = ended_tids_.find(first.program_tid);
  if (known != ended_tids_.end() && known->second == first.node_tid) ended_tids_.erase(known);
  ended_.pop_front();
}

}  // namespace fathom::agent
