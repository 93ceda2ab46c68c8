// AuxSamples: the packets in samples, of `perf record --aux-sample`.
//
// Purpose: each sample ends in a copy of the newest packets of its processor; where that begins depends on all fields
// before it, which the event's attributes chose. Thread safety: const after the last add(). Ownership: results refer
// to the payload. Hostile input: a sample whose fields do not fit into it is damaged.
// Source: PERF_RECORD_SAMPLE in <linux/perf_event.h>.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "snapshot/import/perf_file.h"

namespace fathom::snapshot::perf {

struct AuxSample {
  int32_t tid = -1;
  int32_t cpu = -1;
  std::string_view packets;  // filled up with zeros to eight bytes; perhaps none
};

class AuxSamples {
 public:
  void add(const EventKind& event);
  // Whether any event's samples have packets.
  bool any() const { return any_aux_; }

  enum class Kind { kOther, kAux, kDamaged };
  // The payload of a sample. kOther: its event's samples have no packets.
  Kind take(std::string_view payload, AuxSample& sample) const;

 private:
  // What decides a sample's layout.
  struct Layout {
    uint64_t sample_type = 0;
    uint64_t read_format = 0;
    uint64_t branch_sample_type = 0;
    uint64_t sample_regs_user = 0;
    uint64_t sample_regs_intr = 0;
    bool operator==(const Layout&) const = default;
  };
  const Layout* layout_of(std::string_view payload) const;
  static bool read(const Layout& layout, std::string_view payload, AuxSample& sample);

  bool any_ = false;
  bool any_aux_ = false;
  bool all_alike_ = true;
  bool all_identify_ = true;  // the first field of each is the event's id
  Layout first_;
  std::unordered_map<uint64_t, Layout> by_id_;
};

}  // namespace fathom::snapshot::perf
