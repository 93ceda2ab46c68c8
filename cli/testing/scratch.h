// Programs and directories that a test makes for itself, and a `fathom` run as a process of its own.
#pragma once

#include <functional>
#include <string>

#include "base/testing/temp_directory.h"
#include "cli/fd.h"

namespace fathom::cli {

class Scratch {
 public:
  const std::string& path() const { return directory_.path(); }
  std::string write(const std::string& name, const std::string& text) const;
  // An executable shell script.
  std::string script(const std::string& name, const std::string& body) const;

 private:
  TempDirectory directory_;
};

std::string read_file(const std::string& path);
// Reads one line; the line's end or the stream's end is what it waits for.
std::string read_line(int descriptor);

// Runs `body` in a forked process whose standard output and standard error are pipes to us.
class Forked {
 public:
  explicit Forked(const std::function<int()>& body);
  ~Forked();  // killed when it still runs
  int out() const { return out_.get(); }
  int err() const { return err_.get(); }
  int pid() const { return pid_; }
  int exit_code();  // waits

 private:
  Fd out_;
  Fd err_;
  int pid_ = 0;
};

}  // namespace fathom::cli
