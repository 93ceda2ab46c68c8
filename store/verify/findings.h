// Findings: what a check of a data directory found: how much is intact, and each damage with what it affects.
//
// Purpose: one report for every part of a directory, in the order in which the parts are checked. Memory is bounded:
// only the first kMostDamages are kept in full, all are counted. Thread safety: one thread. Units: in names.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/rocks/loss_record.h"
#include "store/span_store.h"

namespace fathom::store {

// What a damage affects, at most. Unknown times are absent. `received` has stamps when it is given to
// Findings::damaged(), which converts them to Unix time.
struct Affected {
  std::optional<TimeRange> received;  // when the spans or captures arrived
  std::optional<TimeRange> started;   // when the spans started
  uint64_t spans = 0;
  uint64_t traces = 0;
};

struct Damage {
  std::string part;
  std::string place;
  std::string reason;
  Affected affected = {};
};

// Faults of one kind, which are reported once.
struct Tally {
  uint64_t count = 0;
  std::string first;

  void add(const std::string& reason) {
    if (count++ == 0) first = reason;
  }
};

struct PartCount {
  std::string part;
  uint64_t checked = 0;
  uint64_t damaged = 0;
};

class Findings {
 public:
  static constexpr size_t kMostDamages = 10'000;
  // Bytes read so far, and bytes to read.
  using Progress = std::function<void(uint64_t done, uint64_t total)>;

  explicit Findings(Progress progress = {}) : progress_(std::move(progress)) {}

  // The age clock of the directory, by which stamps are converted to Unix time. Without it, they are Unix times.
  void use_clock(const AgeTime& time) { time_ = time; }

  void checked(const std::string& part, uint64_t count = 1) { count_of(part).checked += count; }
  void damaged(Damage damage);
  // Not a damage, but worth a line in the report.
  void note(std::string text) { notes_.push_back(std::move(text)); }
  // What to do instead of a repair, which does not help or is rejected.
  void set_fix(std::string fix) { fix_ = std::move(fix); }
  void known_loss(const Loss& loss) { known_losses_.push_back(loss); }
  void add_record(const LossRecord& record);
  void expect_bytes(uint64_t bytes) { total_bytes_ += bytes; }
  void read_bytes(uint64_t bytes);

  bool intact() const { return damage_count_ == 0; }
  uint64_t damage_count() const { return damage_count_; }
  const std::vector<PartCount>& parts() const { return parts_; }
  const std::vector<Damage>& damages() const { return damages_; }
  const std::vector<std::string>& notes() const { return notes_; }
  const std::string& fix() const { return fix_; }  // empty: a repair
  const std::vector<Loss>& known_losses() const { return known_losses_; }

 private:
  PartCount& count_of(const std::string& part);

  const Progress progress_;
  AgeTime time_ = AgeTime::as_saved({});
  uint64_t done_bytes_ = 0;
  uint64_t total_bytes_ = 0;
  uint64_t damage_count_ = 0;
  std::vector<PartCount> parts_;
  std::vector<Damage> damages_;
  std::vector<std::string> notes_;
  std::string fix_;
  std::vector<Loss> known_losses_;
};

}  // namespace fathom::store
