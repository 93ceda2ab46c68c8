#include "snapshot/record/pt/stand_in_perf.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/whole_io.h"
#include "snapshot/record/pt/pmu.h"

namespace fathom::snapshot {
namespace {

constexpr uint32_t kStandInType = 1'000'000;

class StandInPerfSystem final : public PerfSystem {
 public:
  explicit StandInPerfSystem(std::string scratch) : real_(real_perf_system()), scratch_(std::move(scratch)) {}

  int open(const perf_event_attr& attributes, int32_t pid, int32_t cpu, int group) override {
    if (attributes.type != kStandInType) return real_->open(attributes, pid, cpu, group);
    perf_event_attr dummy = attributes;
    dummy.type = PERF_TYPE_SOFTWARE;
    dummy.config = PERF_COUNT_SW_DUMMY;
    return real_->open(dummy, pid, cpu, group);
  }
  void close(int event) override { real_->close(event); }
  int control(int event, unsigned long request, unsigned long argument) override {
    return real_->control(event, request, argument);
  }
  int set_filter(int, const std::string&) override { return -EOPNOTSUPP; }
  MappedBytes map(int event, uint64_t bytes, uint64_t offset, bool writable) override {
    if (offset == 0) return real_->map(event, bytes, offset, writable);
    void* at = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? MappedBytes{nullptr, errno} : MappedBytes{at, 0};
  }
  void unmap(void* at, uint64_t bytes) override { real_->unmap(at, bytes); }
  uint64_t tsc() override { return real_->tsc(); }
  uint64_t monotonic_nano() override { return real_->monotonic_nano(); }
  void sleep(uint64_t duration_nano) override { real_->sleep(duration_nano); }
  std::string path(std::string_view absolute) const override {
    if (absolute.starts_with(kPtDevice)) return scratch_ + std::string(absolute.substr(kPtDevice.size()));
    return std::string(absolute);
  }
  bool is_stand_in() const override { return true; }

 private:
  std::unique_ptr<PerfSystem> real_;
  std::string scratch_;
};

Result<> put_file(const std::string& path, std::string_view content) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.open()) return system_error("cannot write " + path);
  return write_whole(file.get(), content, "cannot write " + path);
}

}  // namespace

Result<std::unique_ptr<PerfSystem>> stand_in_perf_system(const std::string& scratch) {
  if (::mkdir((scratch + "/format").c_str(), 0700) != 0) return system_error("cannot make " + scratch + "/format");
  const std::pair<const char*, std::string> files[] = {{"/type", std::to_string(kStandInType)},
                                                       {"/format/tsc", "config:10"}};
  for (const auto& [name, content] : files) {
    if (auto put = put_file(scratch + name, content); !put) return put.error();
  }
  return std::unique_ptr<PerfSystem>(std::make_unique<StandInPerfSystem>(scratch));
}

}  // namespace fathom::snapshot
