// TraitTally: how many of the selected members, and of the others, have each trait.
//
// Purpose: the counting behind differences. Members are spans, or requests. Only what a selected one has is counted,
// for only that can be more frequent among them; so the selected ones are to be added first. Thread safety: one thread.
// Units: members.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "query/differences.h"
#include "query/number_tally.h"
#include "query/strata.h"

namespace fathom::query {

// What a trait's value answers: the same of two traits that differ in their values alone.
std::string question_of(const Trait& trait);

class TraitTally {
 public:
  // What comes next is of this member, which is compared with others of `stratum`; what one trace alone has is no
  // difference.
  void begin(bool is_selected, std::string_view stratum, const TraceId& trace_id);
  void have(const TraitView& trait);
  // The trait's value is not looked at.
  void have_number(const TraitView& trait, double value, bool is_whole);

  const Sides& totals() const { return strata_.totals(); }
  // About what it takes; it only grows.
  uint64_t memory_bytes() const { return memory_bytes_; }

  // Those that are more frequent among the selected than chance has it, the most surprising first.
  std::vector<Difference> differences(size_t limit) const;

 private:
  struct Count {
    Trait trait;
    Sides sides;
    std::vector<StratumSides> strata;
    uint32_t last_member = UINT32_MAX;
    uint64_t fingerprint = 0;       // of the set of members that have it
    uint64_t traces = 0;            // of selected members that have it: one bit each, by hash
    void join(const Count& other);  // as if its value were this one, too
  };
  struct Numbers {
    Trait trait;
    NumberTally tally;
  };
  struct Found {
    Difference difference;
    uint64_t fingerprint;
  };

  void count(Count& count, uint32_t member) const;
  Shares compare(const Count& count) const;
  void judge(const Count& count, double penalty, std::vector<Found>& found) const;
  void judge(const Numbers& numbers, std::vector<Found>& found) const;
  void judge_groups(std::vector<Found>& found) const;
  void judge_group(std::vector<const Count*> values, std::vector<Found>& found) const;
  double least_surprise() const;

  Strata strata_;
  std::vector<Member> members_;
  std::string name_;  // of the trait at hand
  std::unordered_map<std::string, Count> counts_;
  std::unordered_map<std::string, Numbers> numbers_;
  uint64_t memory_bytes_ = 0;
};

}  // namespace fathom::query
