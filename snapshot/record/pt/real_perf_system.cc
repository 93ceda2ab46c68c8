#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include <cerrno>

#include "base/time.h"
#include "snapshot/record/pt/perf_system.h"

namespace fathom::snapshot {
namespace {

int or_error(long result) {
  return result < 0 ? -errno : static_cast<int>(result);
}

class RealPerfSystem final : public PerfSystem {
 public:
  int open(const perf_event_attr& attributes, int32_t pid, int32_t cpu, int group) override {
    return or_error(::syscall(SYS_perf_event_open, &attributes, pid, cpu, group, PERF_FLAG_FD_CLOEXEC));
  }
  void close(int event) override { ::close(event); }
  int control(int event, unsigned long request, unsigned long argument) override {
    return or_error(::ioctl(event, request, argument));
  }
  int set_filter(int event, const std::string& filter) override {
    return or_error(::ioctl(event, PERF_EVENT_IOC_SET_FILTER, filter.c_str()));
  }
  MappedBytes map(int event, uint64_t bytes, uint64_t offset, bool writable) override {
    const int protection = PROT_READ | (writable ? PROT_WRITE : 0);
    void* at = ::mmap(nullptr, bytes, protection, MAP_SHARED, event, static_cast<off_t>(offset));
    if (at == MAP_FAILED) return {nullptr, errno};
    return {at, 0};
  }
  void unmap(void* at, uint64_t bytes) override { ::munmap(at, bytes); }
  uint64_t tsc() override { return __rdtsc(); }
  uint64_t monotonic_nano() override { return now_monotonic_nano(); }
  void sleep(uint64_t duration_nano) override {
    const timespec duration{static_cast<time_t>(duration_nano / kNanosPerSecond),
                            static_cast<long>(duration_nano % kNanosPerSecond)};
    ::nanosleep(&duration, nullptr);
  }
  std::string path(std::string_view absolute) const override { return std::string(absolute); }
};

}  // namespace

std::optional<uint32_t> PerfSystem::owner_of(const std::string& absolute) const {
  struct stat about {};
  if (::stat(path(absolute).c_str(), &about) != 0) return std::nullopt;
  return about.st_uid;
}

std::unique_ptr<PerfSystem> real_perf_system() {
  return std::make_unique<RealPerfSystem>();
}

}  // namespace fathom::snapshot
