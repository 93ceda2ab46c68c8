// TaskDirectory: the threads of a process and their names, from /proc/PID/task.
//
// Purpose: captures name their threads, some twenty of them several times a second. Opening the directory once saves
// the kernel most of the path of each file. Thread safety: none. Ownership: of the directory's descriptor. Errors: a
// process or thread that has ended, or may not be seen, has no threads or no name.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

namespace fathom::agent {

class TaskDirectory {
 public:
  // `proc`, for tests: where /proc is.
  explicit TaskDirectory(pid_t pid, const std::string& proc = "/proc");

  // Calls `take` with each thread's id until it returns false.
  void for_each(const std::function<bool(pid_t tid)>& take);
  // Empty: the thread has ended.
  std::string name_of(pid_t tid) const;

 private:
  struct Close {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };
  std::unique_ptr<DIR, Close> directory_;
};

}  // namespace fathom::agent
