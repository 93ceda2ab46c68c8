// A system whose Intel PT follows a script: sysfs and procfs are files below a directory, rings are plain memory that
// the test fills, and every call can be refused.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/record/pt/perf_system.h"

namespace fathom::snapshot {

class ScriptedPerf final : public PerfSystem {
 public:
  static constexpr uint32_t kPtType = 8;

  struct Event {
    perf_event_attr attributes{};
    int32_t pid = -1;
    int32_t cpu = -1;
    int group = -1;
    bool open = true;
    bool enabled = false;
    std::string filter;
    int output = -1;
    uint8_t* ring = nullptr;  // its page and its records
    uint64_t ring_bytes = 0;
    uint8_t* aux = nullptr;
    uint64_t aux_bytes = 0;
    uint64_t aux_written = 0;
    uint64_t lost = 0;  // records that found no room
  };

  // A directory with a processor that has everything, and two CPUs.
  ScriptedPerf();
  ~ScriptedPerf() override;
  ScriptedPerf(const ScriptedPerf&) = delete;

  void put_file(const std::string& absolute, std::string_view content);
  void remove_file(const std::string& absolute);
  // A process's user, as /proc tells; the other ids may differ from the real one, as of a program with set-user-ID.
  void set_owner(int32_t pid, uint32_t uid) { set_owner(pid, uid, uid); }
  void set_owner(int32_t pid, uint32_t uid, uint32_t effective);
  // The next calls of open() for this type and CPU (-1: any) fail.
  void refuse_open(uint32_t type, int32_t cpu, int error) { refused_[{type, cpu}] = error; }
  void refuse_map(int error) { refused_map_ = error; }
  void take_offline(int32_t cpu);
  void on_enable(std::function<void(int32_t cpu)> hook) { on_enable_ = std::move(hook); }
  // A breakpoint waits, from now on or again.
  void on_watch(std::function<void(int32_t cpu)> hook) { on_watch_ = std::move(hook); }
  // Processes are those of this machine, so that real ones can be recorded.
  void use_real_processes();

  // Packets of a CPU, if it records.
  void write_packets(int32_t cpu, std::string_view bytes);
  // A record into the sideband of a CPU; what finds no room is lost, and said by a LOST record when there is room
  // again.
  void write_record(int32_t cpu, const std::string& record);
  // A sample of the breakpoint on a CPU.
  void write_sample(int32_t cpu, const std::string& record);

  const std::vector<std::unique_ptr<Event>>& events() const { return events_; }
  Event* find(uint32_t type, int32_t cpu, uint64_t config = UINT64_MAX);
  uint64_t open_events() const;
  const std::vector<std::string>& calls() const { return calls_; }  // "disable 1:0": what was controlled, type and CPU
  const std::string& root() const { return root_; }
  uint64_t now = 1'000'000;  // ticks, which are nanoseconds here

  int open(const perf_event_attr& attributes, int32_t pid, int32_t cpu, int group) override;
  void close(int event) override;
  int control(int event, unsigned long request, unsigned long argument) override;
  int set_filter(int event, const std::string& filter) override;
  MappedBytes map(int event, uint64_t bytes, uint64_t offset, bool writable) override;
  void unmap(void* at, uint64_t bytes) override;
  uint64_t tsc() override { return now += 10; }
  uint64_t monotonic_nano() override { return now += 10; }
  void sleep(uint64_t duration_nano) override { now += duration_nano; }
  std::string path(std::string_view absolute) const override { return root_ + std::string(absolute); }
  std::optional<uint32_t> owner_of(const std::string& absolute) const override;

 private:
  static constexpr int kFirstEvent = 10'000;
  Event& event_of(int event) { return *events_[static_cast<size_t>(event - kFirstEvent)]; }
  void stop(Event& event);
  void append(Event& event, const std::string& record);
  bool put(Event& event, const std::string& record);

  std::string root_;
  std::vector<std::unique_ptr<Event>> events_;
  std::vector<std::pair<void*, uint64_t>> areas_;
  std::map<std::pair<uint32_t, int32_t>, int> refused_;
  int refused_map_ = 0;
  std::vector<int32_t> offline_;
  std::map<std::string, uint32_t> owners_;  // by path
  std::function<void(int32_t)> on_enable_;
  std::function<void(int32_t)> on_watch_;
  std::vector<std::string> calls_;
};

}  // namespace fathom::snapshot
