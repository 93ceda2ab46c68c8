// One part of the shop as a process of its own, started from this program's file.
//
// Thread safety: one thread, which lives as long as the parts: they die with it. Ownership: the destructor kills what
// still runs. Errors: an empty first line; an exit status that is not 0.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace shop {

class Process {
 public:
  // `words`: the part's name and its flags.
  explicit Process(const std::vector<std::string>& words);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  // The first line of its standard output: where it listens. Empty when it ended without one.
  std::string first_line();
  bool running();
  void stop();  // asks it to end
  int wait();   // its exit status

 private:
  pid_t pid_ = 0;
  int output_ = -1;
  int status_ = 0;
};

}  // namespace shop
