// TraitTally: how many of the selected spans, and of the others, have each trait.
//
// Purpose: the counting behind differences. Only what a selected span has is counted, for only that can be more
// frequent among them; so the selected ones are to be added first. Thread safety: one thread. Units: spans.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "query/differences.h"

namespace fathom::query {

class TraitTally {
 public:
  void add_selected(const store::StoredSpan& stored) { add(stored, true); }
  void add_other(const store::StoredSpan& stored) { add(stored, false); }
  uint64_t selected() const { return selected_; }
  uint64_t others() const { return others_; }

  // Those that are more frequent among the selected than chance has it, the most surprising first.
  std::vector<Difference> differences(size_t limit) const;

 private:
  struct Count {
    uint64_t selected = 0;
    uint64_t others = 0;
    uint64_t last_span = 0;    // the number of the span that counted it last
    uint64_t fingerprint = 0;  // of the set of spans that have it
    uint64_t traces = 0;       // of selected spans that have it: one bit each, by hash
  };

  void add(const store::StoredSpan& stored, bool is_selected);
  void add_attributes(TraitOf of, std::span<const store::AttributeView> attributes, bool is_selected);
  void count(TraitOf of, std::string_view key, std::string_view value, bool is_selected);

  uint64_t selected_ = 0;
  uint64_t others_ = 0;
  uint64_t span_hash_ = 0;
  uint64_t trace_bit_ = 0;
  std::string name_;  // of the trait at hand
  std::unordered_map<std::string, Count> counts_;
};

}  // namespace fathom::query
