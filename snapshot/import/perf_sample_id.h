// SampleIds: when, where and of which thread a record of the kernel is, from the fields behind it.
//
// Purpose: with `sample_id_all` every record ends in fields that its event's `sample_type` chose; of several events
// each record says which one it is of. Thread safety: const after the last add(). Errors: a record whose event is not
// known, or that is too short, has no such fields, which is counted.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "snapshot/import/perf_file.h"

namespace fathom::snapshot::perf {

struct SampleId {
  int32_t pid = -1;
  int32_t tid = -1;
  int32_t cpu = -1;
  uint64_t nano = 0;  // of perf's clock; 0: none, the record holds from the beginning
  uint64_t event_id = 0;
};

class SampleIds {
 public:
  void add(const EventKind& event);
  // `payload` loses what it ends in.
  SampleId take(std::string_view& payload);
  uint64_t unknown() const { return unknown_; }

 private:
  struct Layout {
    uint64_t sample_type = 0;
    bool present = false;
    bool operator==(const Layout&) const = default;
  };
  const Layout* layout_of(std::string_view payload) const;

  bool any_ = false;
  bool all_alike_ = true;
  bool all_identify_ = true;  // the last field of each is the event's id
  Layout first_;
  std::unordered_map<uint64_t, Layout> by_id_;
  uint64_t unknown_ = 0;
};

}  // namespace fathom::snapshot::perf
