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
#include "bench/server.h"
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

// ---- strace, perf trace: programs that attach -----------------------------------------------------------------------

class Attaching : public SyscallTracer {
 public:
  Result<> put_on(pid_t pid, const std::string& output) override {
    if (!available()) return unavailable(package());
    auto started = Subprocess::start({words(pid, output), {}, "/dev/null"});
    if (!started) return started.error();
    process_ = std::move(*started);
    if (ready(pid, *process_)) return {};
    process_.reset();
    return unavailable(name() + " does not attach here (it may want root)");
  }
  void take_off() override {
    if (process_) process_->stop(SIGINT);
    process_.reset();
  }
  // What it has not written yet it writes when it ends.
  bool has_seen(const std::string& output) override {
    take_off();
    return text_of(output).find(call()) != std::string::npos;
  }

 protected:
  virtual bool available() const = 0;
  virtual std::string package() const = 0;
  virtual std::vector<std::string> words(pid_t pid, const std::string& output) const = 0;
  virtual bool ready(pid_t pid, Subprocess& tracer) const = 0;
  virtual std::string call() const { return "getppid"; }

 private:
  std::unique_ptr<Subprocess> process_;
};

class Strace : public Attaching {
 public:
  std::string name() const override { return "strace"; }

 protected:
  bool available() const override { return program_is_installed("strace"); }
  std::string package() const override { return "strace is not installed (Debian: strace)"; }
  // -t as in the survey.
  std::vector<std::string> words(pid_t pid, const std::string& output) const override {
    return {"strace", "-f", "-t", "-o", output, "-p", std::to_string(pid)};
  }
  bool ready(pid_t pid, Subprocess& tracer) const override {
    return await([&] { return !tracer.running() || attached(pid, tracer.pid()); }) && tracer.running();
  }

 private:
  static bool attached(pid_t pid, pid_t tracer) {
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
  bool available() const override { return program_is_installed("perf"); }
  std::string package() const override { return "perf is not installed (Debian: linux-perf)"; }
  std::vector<std::string> words(pid_t pid, const std::string& output) const override {
    return {"perf", "trace", "-o", output, "-p", std::to_string(pid)};
  }
  // It says nothing: it is ready some time after it has mapped its ring buffers.
  bool ready(pid_t, Subprocess& tracer) const override {
    const std::string maps = "/proc/" + std::to_string(tracer.pid()) + "/maps";
    await([&] { return !tracer.running() || text_of(maps).find("[perf_event]") != std::string::npos; });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return tracer.running();
  }
};

// ---- fathom: what the agent records of processes that are chosen, by the program that chooses one -------------------

class Fathom : public Attaching {
 public:
  std::string name() const override { return "fathom"; }

 protected:
  bool available() const override { return ::access(program_.c_str(), X_OK) == 0; }
  std::string package() const override { return "fathom's agent records no system calls in this tree"; }
  // It says on a descriptor that it is ready, and prints the last events when it ends.
  std::vector<std::string> words(pid_t pid, const std::string& output) const override {
    return {"sh", "-c", R"(exec "$0" --pid "$1" --ready-fd 3 3>&1 >"$2")", program_, std::to_string(pid), output};
  }
  bool ready(pid_t, Subprocess& tracer) const override { return tracer.read_line().ok(); }
  std::string call() const override { return "system call " + std::to_string(SYS_getppid) + "("; }

 private:
  const std::string program_ = beside_this_program("kernel_watch");
};

// ---- ftrace: the kernel's own, in an instance that nobody else uses -------------------------------------------------

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
