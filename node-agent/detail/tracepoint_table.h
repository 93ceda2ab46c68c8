// TracepointTable: what the tracepoints of one program are, as its detail pool's table describes them.
//
// Purpose: from a record's kind to names, types and keys. Thread safety: a plain value. Ownership: of copies of all
// texts. Errors: none: what is no description is passed over, and counted. Hostility: every length is checked against
// what is there; the first description of a kind stands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/pool/detail_layout.h"

namespace fathom::agent {

struct TracepointField {
  pool::FieldType type{};
  std::string key;
};

struct Tracepoint {
  uint32_t kind = 0;
  uint32_t line = 0;
  bool on = false;  // when the table was copied
  std::string name;
  std::string file;
  std::vector<TracepointField> fields;
};

class TracepointTable {
 public:
  TracepointTable() = default;
  // `first` and `second`: area 3, copied twice with an acquire fence between. A copy has no order, so an entry counts
  // when the first copy has its size, which is stored last; its bytes are the second one's.
  static TracepointTable decode(std::string_view first, std::string_view second);

  // Null: not described. Valid as long as the table.
  const Tracepoint* find(uint32_t kind) const;
  // Whether a payload can be one of this kind. `exact`: nothing may be left over but a short record's padding.
  bool fits(uint32_t kind, std::string_view payload, bool exact) const;
  const std::vector<Tracepoint>& all() const { return tracepoints_; }
  // Stretches of the table with bytes that are no description: a thread died while it described, or worse.
  uint32_t damaged() const { return damaged_; }

 private:
  bool add(std::string_view entry);

  std::vector<Tracepoint> tracepoints_;
  std::vector<uint16_t> by_kind_;  // the place in tracepoints_ plus one
  uint32_t damaged_ = 0;
};

}  // namespace fathom::agent
