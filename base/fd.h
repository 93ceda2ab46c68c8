// Fd: a file descriptor with one owner, and the pipe that many of them come from.
//
// Thread safety: plain values. Ownership: closed by the destructor. Errors: kInternal, with the system's words.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/result.h"

namespace fathom {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~Fd() { close(); }

  int get() const { return number_; }
  bool open() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_ = -1;
};

inline Error system_error(const std::string& what) {
  return internal(what + ": " + std::strerror(errno));
}

struct Pipe {
  Fd read;
  Fd write;
};

// Both ends are closed on exec().
inline Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

}  // namespace fathom
