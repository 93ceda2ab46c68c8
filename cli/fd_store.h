// FdStore: keeps descriptors for a program while it is started again, as systemd's file descriptor store does.
//
// Purpose: what an agent holds of other programs' memory must outlive the agent. The program sends descriptors to
// $NOTIFY_SOCKET ("FDSTORE=1", "FDNAME=..."), drops them ("FDSTOREREMOVE=1", "FDNAME=..."), and finds all of them again
// after its next start, from number 3 on, with $LISTEN_FDS, $LISTEN_FDNAMES and $LISTEN_PID: the protocol of
// sd_notify(3) and sd_listen_fds(3), so that the same program works under systemd. Other messages are ignored, and
// descriptors are not polled, as with FDPOLL=0. A file that is sent again under its name is kept once.
// Bounds: kMostDescriptors, or fewer where the limit of open files is low; beyond it descriptors are closed, and
// counted. Hostility: only messages of the supervised process are taken (the kernel says whose they are). Thread
// safety: one thread. Ownership: of its socket and all that it keeps.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/child.h"
#include "cli/fd.h"

namespace fathom::cli {

class FdStore {
 public:
  static constexpr size_t kMostDescriptors = 4096;
  static constexpr int kFirstNumber = 3;  // sd_listen_fds(3) says so

  // The socket lies in `directory`, readable to this user only; where that cannot be, it has an abstract name.
  static Result<FdStore> make(const std::string& directory, size_t most = kMostDescriptors);
  FdStore(FdStore&&) = default;
  FdStore& operator=(FdStore&&) = delete;
  ~FdStore();

  int descriptor() const { return socket_.get(); }  // can be read when there are messages
  void take();                                      // what is there; bounded, so call again when it can be read again
  void take_all();                                  // of a sender that is gone: its last words
  void expect(pid_t sender) { sender_ = sender; }

  // Adds what the child must be given; the next free number in the child.
  int equip(ChildOptions& child) const;

  size_t size() const { return kept_.size(); }
  uint64_t refused() const { return refused_; }  // descriptors that were not kept, and messages of strangers

 private:
  struct Kept {
    std::string name;
    Fd descriptor;
  };
  struct Message {
    std::string text;
    std::vector<Fd> descriptors;
    pid_t sender = 0;
    bool whole = true;
  };
  FdStore(Fd socket, std::string address, std::string path, size_t most)
      : socket_(std::move(socket)), address_(std::move(address)), path_(std::move(path)), most_(most) {}

  void take(size_t most);
  bool receive(Message& message);
  void obey(Message message);
  void keep(const std::string& name, std::vector<Fd> descriptors);
  bool is_kept(const std::string& name, int descriptor) const;
  void remove(const std::string& name);
  void refuse(uint64_t count, const char* why);

  Fd socket_;
  std::string address_;  // as $NOTIFY_SOCKET has it: a path, or '@' and an abstract name
  std::string path_;     // of a socket in the file system; empty: abstract
  size_t most_;
  pid_t sender_ = 0;
  std::vector<Kept> kept_;
  size_t names_bytes_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace fathom::cli
