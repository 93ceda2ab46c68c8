// KeptFlow: the Analysis that keeps what every thread ran, thread by thread, in the order of time.
//
// Purpose: a stream is what a processor ran, and a thread may have run on several of them: its turns are put one behind
// the other when all streams are there. Between two of them stand a turn_item() that ends and one that begins. Thread
// safety: as Analysis says; the results belong to one thread, after finish(). Memory: at most `most_items` items of
// eight bytes (twice that of a thread while its turns are put together); what comes then is left out, and its rows are
// counted. Errors: none.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "snapshot/decode/call_stack.h"
#include "snapshot/view/packed_flow.h"

namespace fathom::snapshot {

struct KeptThread {
  ThreadKey key;
  PackedFlow flow;
};

class KeptFlow final : public Analysis {
 public:
  explicit KeptFlow(uint64_t most_items) : most_items_(most_items) {}

  std::unique_ptr<FlowPart> part(size_t stream) override;
  bool merge(std::unique_ptr<FlowPart> part) override;

  // After the last merge(); by key, those that ran. What it gives refers to blocks().
  std::vector<KeptThread> finish();
  const BlockTable& blocks() const { return blocks_; }
  uint64_t left_out_rows() const { return left_out_rows_; }

 private:
  struct Turn {
    uint64_t begin_tsc;
    uint64_t end_tsc;
    PackedFlow flow;
  };
  void run(const FlowItem& thread, size_t stream);
  void keep(const FlowItem& item);
  PackedFlow joined(std::vector<Turn>& turns);

  const uint64_t most_items_;
  uint64_t items_ = 0;
  uint64_t left_out_rows_ = 0;
  BlockTable blocks_;
  std::map<ThreadKey, std::vector<Turn>> turns_;
  size_t stream_ = SIZE_MAX;
  ThreadKey running_;
  Turn* turn_ = nullptr;
};

}  // namespace fathom::snapshot
