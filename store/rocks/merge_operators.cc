#include "store/rocks/merge_operators.h"

#include <rocksdb/merge_operator.h>

#include "store/index/latency_cell.h"
#include "store/index/slow_list.h"
#include "store/rocks/counters.h"

namespace fathom::store {
namespace {

std::string_view view(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

struct SlowListTraits {
  using Value = SlowList;
  static constexpr const char* kName = "fathom.slow_list";
  static constexpr const char* kIndex = "slow";
  static void note_loss(SlowList& list) { list.raise_floor(UINT64_MAX); }
};

struct LatencyCellTraits {
  using Value = LatencyCell;
  static constexpr const char* kName = "fathom.latency_cell";
  static constexpr const char* kIndex = "latency";
  static void note_loss(LatencyCell&) {}
};

// Merging is associative and starts from an empty value, so full and partial merges are the same fold.
template <typename Traits>
class FoldOperator : public rocksdb::MergeOperator {
 public:
  FoldOperator() : lost_(lost_index_values(Traits::kIndex)) {}

  const char* Name() const override { return Traits::kName; }

  bool FullMergeV2(const MergeOperationInput& in, MergeOperationOutput* out) const override {
    if (in.existing_value == nullptr && in.operand_list.size() == 1) {
      out->existing_operand = in.operand_list.front();
      return true;
    }
    typename Traits::Value sum;
    if (in.existing_value != nullptr) add(*in.existing_value, sum);
    for (const rocksdb::Slice& operand : in.operand_list) add(operand, sum);
    out->new_value.clear();  // an iterator hands in the string of its previous key
    sum.encode(out->new_value);
    return true;
  }

  bool PartialMergeMulti(const rocksdb::Slice&, const std::deque<rocksdb::Slice>& operands, std::string* out,
                         rocksdb::Logger*) const override {
    typename Traits::Value sum;
    for (const rocksdb::Slice& operand : operands) add(operand, sum);
    out->clear();
    sum.encode(*out);
    return true;
  }

 private:
  void add(const rocksdb::Slice& operand, typename Traits::Value& sum) const {
    Result<typename Traits::Value> decoded = Traits::Value::decode(view(operand));
    if (decoded.ok()) return sum.merge(*decoded);
    lost_.add();
    Traits::note_loss(sum);
  }

  Counter& lost_;
};

}  // namespace

std::shared_ptr<rocksdb::MergeOperator> make_slow_list_merge() {
  return std::make_shared<FoldOperator<SlowListTraits>>();
}

std::shared_ptr<rocksdb::MergeOperator> make_latency_cell_merge() {
  return std::make_shared<FoldOperator<LatencyCellTraits>>();
}

}  // namespace fathom::store
