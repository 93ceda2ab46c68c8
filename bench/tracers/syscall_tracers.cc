#include "bench/tracers/syscall_tracers.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "base/fd.h"
#include "base/time.h"
#include "bench/tracers/subprocess.h"

namespace fathom::bench::tracers {

namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool await(const std::function<bool()>& done) {
  const uint64_t deadline = now_monotonic_nano() + 20 * kNanosPerSecond;
  while (!done()) {
    if (now_monotonic_nano() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

std::vector<std::string> tasks_of(pid_t pid) {
  std::vector<std::string> tasks;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", ignored))
    tasks.push_back(entry.path().filename());
  return tasks;
}

// ---- strace, perf trace: programs that attach
// -------------------------------------------------------------------------

class Attaching : public SyscallTracer {
 public:
  Result<> put_on(pid_t pid, const std::string& output) override {
    if (!program_is_installed(program())) return unavailable(package());
    auto started = Subprocess::start({words(pid, output), {}, "/dev/null"});
    if (!started) return started.error();
    process_ = std::move(*started);
    if (await([&] { return !process_->running() || attached(pid, process_->pid()); }) && process_->running()) return {};
    process_.reset();
    return unavailable(program() + " does not attach here (it may want root)");
  }
  void take_off() override {
    if (process_) process_->stop(SIGINT);
    process_.reset();
  }
  // What it has not written yet it writes when it ends.
  bool has_seen(const std::string& output) override {
    take_off();
    return text_of(output).find("getppid") != std::string::npos;
  }

 protected:
  virtual std::string program() const = 0;
  virtual std::string package() const = 0;
  virtual std::vector<std::string> words(pid_t pid, const std::string& output) const = 0;
  virtual bool attached(pid_t pid, pid_t tracer) const = 0;

 private:
  std::unique_ptr<Subprocess> process_;
};

class Strace : public Attaching {
 public:
  std::string name() const override { return "strace"; }

 protected:
  std::string program() const override { return "strace"; }
  std::string package() const override { return "strace is not installed (Debian: strace)"; }
  // -t as in the survey.
  std::vector<std::string> words(pid_t pid, const std::string& output) const override {
    return {"strace", "-f", "-t", "-o", output, "-p", std::to_string(pid)};
  }
  bool attached(pid_t pid, pid_t tracer) const override {
    for (const std::string& task : tasks_of(pid)) {
      const std::string status = text_of("/proc/" + std::to_string(pid) + "/task/" + task + "/status");
      if (status.find("TracerPid:\t" + std::to_string(tracer) + "\n") == std::string::npos) return false;
    }
    return true;
  }
};

class PerfTrace : public Attaching {
 public:
  std::string name() const override { return "perf_trace"; }

 protected:
  std::string program() const override { return "perf"; }
  std::string package() const override { return "perf is not installed (Debian: linux-perf)"; }
  std::vector<std::string> words(pid_t pid, const std::string& output) const override {
    return {"perf", "trace", "-o", output, "-p", std::to_string(pid)};
  }
  // It says nothing: it is ready some time after it has mapped its ring buffers.
  bool attached(pid_t, pid_t tracer) const override {
    if (text_of("/proc/" + std::to_string(tracer) + "/maps").find("[perf_event]") == std::string::npos) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return true;
  }
};

// ---- ftrace: the kernel's own, in an instance that nobody else uses
// --------------------------------------------------

class Ftrace : public SyscallTracer {
 public:
  ~Ftrace() override { remove(); }
  std::string name() const override { return "ftrace"; }

  // As in the survey: 16 KiB per processor, the global clock, no reader.
  Result<> put_on(pid_t pid, const std::string&) override {
    if (::access(instance_.c_str(), F_OK) != 0 && ::mkdir(instance_.c_str(), 0700) != 0)
      return unavailable("ftrace wants root and tracefs: cannot make " + instance_);
    for (const std::string& task : tasks_of(pid)) {
      if (!write("set_event_pid", task, O_APPEND)) return unavailable("ftrace does not take the process");
    }
    const bool fine = write("buffer_size_kb", "16") && write("trace_clock", "global") &&
                      write("events/raw_syscalls/enable", "1") && write("tracing_on", "1");
    if (!fine) return unavailable("this kernel's ftrace has no raw_syscalls");
    return {};
  }
  void take_off() override {
    write("events/raw_syscalls/enable", "0");
    write("set_event_pid", "\n");
  }
  bool has_seen(const std::string&) override {
    return text_of(instance_ + "/trace").find("NR " + std::to_string(SYS_getppid) + " ") != std::string::npos;
  }

 private:
  // No stream: it would look for the end of a file that it appends to, and these have none.
  bool write(const std::string& file, const std::string& text, int mode = O_TRUNC) {
    const Fd fd(::open((instance_ + "/" + file).c_str(), O_WRONLY | O_CLOEXEC | mode));
    return fd.open() && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }
  void remove() {
    if (::access(instance_.c_str(), F_OK) != 0) return;
    take_off();
    ::rmdir(instance_.c_str());
  }
  const std::string instance_ = std::string(Tracefs::kPath) + "/instances/fathom-bench-" + std::to_string(::getpid());
};

// ---- fathom: what the agent records of chosen processes. The seam for it
// ------------------------------------------------

class Fathom : public SyscallTracer {
 public:
  std::string name() const override { return "fathom"; }
  Result<> put_on(pid_t, const std::string&) override {
    return unavailable("fathom's agent records no system calls in this tree");
  }
  void take_off() override {}
  bool has_seen(const std::string&) override { return false; }
};

}  // namespace

std::vector<std::unique_ptr<SyscallTracer>> syscall_tracers() {
  std::vector<std::unique_ptr<SyscallTracer>> all;
  all.push_back(std::make_unique<Strace>());
  all.push_back(std::make_unique<PerfTrace>());
  all.push_back(std::make_unique<Ftrace>());
  all.push_back(std::make_unique<Fathom>());
  return all;
}

Tracefs::Tracefs() {
  if (::access((std::string(kPath) + "/trace").c_str(), F_OK) == 0) return;
  ours_ = ::mount("nodev", kPath, "tracefs", 0, nullptr) == 0;
}

Tracefs::~Tracefs() {
  if (ours_) ::umount(kPath);
}

}  // namespace fathom::bench::tracers
