#include "bench/snapshot/function_trace.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "base/fd.h"
#include "bench/tracers/syscall_tracers.h"

namespace fathom::bench {
namespace {

class Instance final : public FunctionTrace {
 public:
  Instance() = default;
  Instance(const Instance&) = delete;
  ~Instance() override {
    if (!made_) return;
    take_off();
    ::rmdir(path_.c_str());
  }

  Result<> make_for(pid_t pid) {
    made_ = ::mkdir(path_.c_str(), 0700) == 0;
    if (!made_) return unavailable("ftrace wants root and tracefs: cannot make " + path_);
    const bool fine = write("buffer_size_kb", "4096") && write("trace_options", "bin") &&
                      write("set_ftrace_pid", std::to_string(pid)) && write("tracing_on", "0") &&
                      write("current_tracer", "function");
    if (!fine) return unavailable("this kernel has no function tracer (CONFIG_FUNCTION_TRACER)");
    write("current_tracer", "nop");
    return {};
  }
  Result<> put_on() override {
    if (write("current_tracer", "function") && write("tracing_on", "1")) return {};
    return unavailable("the function tracer cannot be switched on");
  }
  void take_off() override {
    write("tracing_on", "0");
    write("current_tracer", "nop");
  }

 private:
  bool write(const std::string& file, const std::string& text) {
    const Fd fd(::open((path_ + "/" + file).c_str(), O_WRONLY | O_CLOEXEC));
    return fd.open() && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }

  const tracers::Tracefs mounted_;
  const std::string path_ =
      std::string(tracers::Tracefs::kPath) + "/instances/fathom-functions-" + std::to_string(::getpid());
  bool made_ = false;
};

}  // namespace

Result<std::unique_ptr<FunctionTrace>> FunctionTrace::make(pid_t pid) {
  auto instance = std::make_unique<Instance>();
  if (auto made = instance->make_for(pid); !made) return made.error();
  return std::unique_ptr<FunctionTrace>(std::move(instance));
}

}  // namespace fathom::bench
