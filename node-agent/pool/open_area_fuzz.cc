// An area of open spans of any bytes, which change between two looks: nothing is read outside of it, no list grows
// beyond it, and texts have the length that they may have. What a scan for overdue spans makes of them ends, too.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "node-agent/pool/open_area.h"
#include "node-agent/testing/scripted_pool.h"
#include "node-agent/triggers/open_span_scan.h"

namespace fathom::agent {
namespace {

constexpr uint32_t kSlots = 8;

struct StillClock : ClockSource {
  ClockReading read() override {
    now += 2'000'000;
    return {now * 2, now, now, now};
  }
  uint64_t now = 0;
};

void check(bool good) {
  if (!good) std::abort();
}

class Subject {
 public:
  Subject() : pool_(1, pool::Clock::kTsc, -1, kSlots), clock_(source_) {
    Result<PoolFile> file = PoolFile::open(pool_.descriptor(), 0);
    WatchedProgram program;
    program.open = *OpenArea::map(*file);
    area_ = program.open;
    scan_.set(std::make_shared<const WatchedProgram>(program), std::make_shared<const Thresholds>(1000));
    clock_.update();
  }

  void put(const uint8_t* bytes, size_t size) {
    std::memcpy(reinterpret_cast<char*>(&pool_.triggers()), bytes,
                std::min<size_t>(size, pool::open_area_bytes(kSlots)));
  }
  void look() {
    std::vector<ThreadSpan> open = area_->all_open();
    check(open.size() <= kSlots * pool::kOpenLevels);
    for (const ThreadSpan& span : open) check(span.span.name().size() <= 88 && span.tid != 0);
    OpenArea::Triggers found = area_->new_triggers(ticket_, true);
    check(found.triggers.size() <= pool::kTriggerNotes);
    for (const ProgramTrigger& trigger : found.triggers) check(trigger.reason.size() <= 86);
    std::vector<OverdueSpan> overdue;
    scan_.visit(source_.now, clock_, overdue);
    check(overdue.size() <= kSlots * pool::kOpenLevels);
  }

 private:
  testing::ScriptedPool pool_;
  StillClock source_;
  TickClock clock_;
  std::shared_ptr<const OpenArea> area_;
  OpenSpanScan scan_;
  uint32_t ticket_ = 0;
};

}  // namespace
}  // namespace fathom::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fathom::agent::Subject subject;
  subject.put(data, size / 2);
  subject.look();
  subject.put(data + size / 2, size - size / 2);
  subject.look();
  return 0;
}
