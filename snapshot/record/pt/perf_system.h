// PerfSystem: every call of the system that recording makes, in one small interface.
//
// Purpose: no machine of ours has Intel PT, so everything above this line is tested with a system that follows a script
// (snapshot/record/testing/scripted_perf.h). Thread safety: the real one, all of it. Ownership: events and areas are
// the caller's to close and unmap; PerfEvent and PerfArea do so. Errors: calls that open or control return -errno, for
// explain_*() (obstacles.h) to say in words. Units: bytes, nanoseconds, ticks of the time-stamp counter.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace fathom::snapshot {

inline constexpr uint64_t kPerfPageBytes = 4096;  // of the page in front of a mapped ring, and of an area's pages

struct MappedBytes {
  void* at = nullptr;
  int error = 0;  // errno, where `at` is null
};

class PerfSystem {
 public:
  virtual ~PerfSystem() = default;

  // perf_event_open(2), closed on exec. A descriptor that poll() takes, or -errno.
  virtual int open(const perf_event_attr& attributes, int32_t pid, int32_t cpu, int group) = 0;
  virtual void close(int event) = 0;
  // ioctl(2) of an event; 0 or -errno.
  virtual int control(int event, unsigned long request, unsigned long argument) = 0;
  virtual int set_filter(int event, const std::string& filter) = 0;
  virtual MappedBytes map(int event, uint64_t bytes, uint64_t offset, bool writable) = 0;
  virtual void unmap(void* at, uint64_t bytes) = 0;

  virtual uint64_t tsc() = 0;
  virtual uint64_t monotonic_nano() = 0;
  virtual void sleep(uint64_t duration_nano) = 0;
  // Where a file of sysfs or procfs lies: "/proc/self/maps" as it is, or below a directory of the script.
  virtual std::string path(std::string_view absolute) const = 0;
  // The user to whom such a file belongs; nothing where there is none.
  virtual std::optional<uint32_t> owner_of(const std::string& absolute) const;
  // What it calls Intel PT is none, so that a snapshot says it.
  virtual bool is_stand_in() const { return false; }
};

std::unique_ptr<PerfSystem> real_perf_system();

// An event with one owner.
class PerfEvent {
 public:
  PerfEvent() = default;
  PerfEvent(PerfSystem& system, int event) : system_(&system), event_(event) {}
  PerfEvent(PerfEvent&& other) noexcept
      : system_(std::exchange(other.system_, nullptr)), event_(std::exchange(other.event_, -1)) {}
  PerfEvent& operator=(PerfEvent&& other) noexcept {
    std::swap(system_, other.system_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~PerfEvent() {
    if (system_ != nullptr && event_ >= 0) system_->close(event_);
  }

  bool open() const { return event_ >= 0; }
  int get() const { return event_; }
  int control(unsigned long request, unsigned long argument = 0) const {
    return system_->control(event_, request, argument);
  }

 private:
  PerfSystem* system_ = nullptr;
  int event_ = -1;
};

// Mapped bytes with one owner.
class PerfArea {
 public:
  PerfArea() = default;
  PerfArea(PerfSystem& system, void* at, uint64_t bytes) : system_(&system), at_(at), bytes_(bytes) {}
  PerfArea(PerfArea&& other) noexcept
      : system_(other.system_), at_(std::exchange(other.at_, nullptr)), bytes_(other.bytes_) {}
  PerfArea& operator=(PerfArea&& other) noexcept {
    std::swap(system_, other.system_);
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~PerfArea() {
    if (at_ != nullptr) system_->unmap(at_, bytes_);
  }

  uint8_t* data() const { return static_cast<uint8_t*>(at_); }
  uint64_t size() const { return bytes_; }

 private:
  PerfSystem* system_ = nullptr;
  void* at_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace fathom::snapshot
