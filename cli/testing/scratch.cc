#include "cli/testing/scratch.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace fathom::cli {

std::string Scratch::write(const std::string& name, const std::string& text) const {
  std::string file = directory_ / name;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path());
  std::ofstream(file) << text;
  return file;
}

std::string Scratch::script(const std::string& name, const std::string& body) const {
  std::string file = write(name, "#!/bin/sh\n" + body);
  ::chmod(file.c_str(), 0755);
  return file;
}

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string read_line(int descriptor) {
  std::string line;
  char c = 0;
  while (::read(descriptor, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

Forked::Forked(const std::function<int()>& body) {
  Pipe out = *make_pipe();
  Pipe err = *make_pipe();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(out.write.get(), STDOUT_FILENO);
    ::dup2(err.write.get(), STDERR_FILENO);
    ::_exit(body());
  }
  out_ = std::move(out.read);
  err_ = std::move(err.read);
}

Forked::~Forked() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  exit_code();
}

int Forked::exit_code() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace fathom::cli
