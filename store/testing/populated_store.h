// A store with something in every family, and every answer that it gives.
//
// Purpose: tests of damage need segments in several partitions, traces that grow over them, corrected summaries,
// batches that are not sealed, and captures. Answers are texts, so that two stores can be compared. Thread safety:
// none.
#pragma once

#include <string>
#include <vector>

#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {

// Options with which populate() fills several segments.
RocksOptions populated_options();
// Fills the open store of a rig, and closes it. `with_drop`: retention drops the oldest partition.
void populate(RocksRig& rig, uint64_t seed, bool with_drop = true);

// The same for a rig whose directory is empty, by copying a directory that is made once per process.
void copy_populated(RocksRig& rig, uint64_t seed);

struct Answers {
  std::vector<std::string> texts;
  bool has_errors = false;  // an answer is an error that names damage
  bool operator==(const Answers&) const = default;
};
// What the store says of everything that populate() may have stored.
Answers all_answers(RocksStore& store);

// Names, sizes, times and contents of all files of a directory.
std::string tree_text(const std::string& path);

}  // namespace fathom::store::testing
