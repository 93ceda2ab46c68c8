#include "base/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/bytes.h"

namespace fathom {
namespace {

// The bounds are part of the format, so they come from integers alone: x(0) = 2^64, x(i) = x(i-1) + floor(x(i-1) / 50)
// is 1.02^i with 64 binary places, the same on every machine. The last bucket takes all that is left of 64 bits.
constexpr uint32_t kBuckets = 2242;

using Bounds = std::array<uint64_t, kBuckets>;

constexpr Bounds make_high_bounds() {
  Bounds high{};
  unsigned __int128 power = static_cast<unsigned __int128>(1) << 64;
  for (uint32_t i = 1; i + 1 < kBuckets; ++i) {
    power += power / 50;
    high[i] = static_cast<uint64_t>(power >> 64);
  }
  high[kBuckets - 1] = UINT64_MAX;
  return high;
}

constexpr Bounds kHigh = make_high_bounds();
static_assert(kHigh[kBuckets - 2] > UINT64_MAX / 51 * 50,
              "the powers of 1.02 reach the end of 64 bits without overflow");

// A slot is a power of two cut into 64 equal parts. It is narrower than any bucket, so at most one bound lies inside:
// the bucket of a duration is the bucket of its slot's first duration, or the next.
constexpr int kSlotBits = 6;
constexpr uint64_t kSlotsPerPower = 1 << kSlotBits;

constexpr uint32_t slot_of(uint64_t duration_nano) {
  int power = std::bit_width(duration_nano) - 1;
  uint64_t part = power >= kSlotBits ? duration_nano >> (power - kSlotBits) : duration_nano << (kSlotBits - power);
  return static_cast<uint32_t>(power * kSlotsPerPower + (part & (kSlotsPerPower - 1)));
}

constexpr uint64_t slot_first_nano(uint32_t slot) {
  int power = static_cast<int>(slot / kSlotsPerPower);
  uint64_t part = kSlotsPerPower + slot % kSlotsPerPower;
  return power >= kSlotBits ? part << (power - kSlotBits) : part >> (kSlotBits - power);
}

constexpr auto kSlotBucket = [] {
  std::array<uint16_t, 64 * kSlotsPerPower> buckets{};
  uint32_t bucket = 0;
  for (uint32_t slot = 0; slot < buckets.size(); ++slot) {
    while (kHigh[bucket] < slot_first_nano(slot)) ++bucket;
    buckets[slot] = static_cast<uint16_t>(bucket);
  }
  return buckets;
}();

// Counts stop at the top instead of starting again at zero; only a forged histogram gets there.
uint64_t add_saturating(uint64_t a, uint64_t b) {
  return a + b < a ? UINT64_MAX : a + b;
}

bool holds_no_duration(uint32_t bucket) {
  return bucket >= kBuckets || (bucket > 0 && kHigh[bucket] == kHigh[bucket - 1]);
}

using Buckets = std::vector<std::pair<uint32_t, uint64_t>>;

// How many of `others` are not among `buckets`.
size_t missing_buckets(const Buckets& buckets, const Buckets& others) {
  size_t missing = 0;
  auto mine = buckets.begin();
  for (const auto& [bucket, count] : others) {
    while (mine != buckets.end() && mine->first < bucket) ++mine;
    missing += mine == buckets.end() || mine->first != bucket;
  }
  return missing;
}

// 1 to count: the nearest rank. The factor keeps 0.07 * 100 from becoming 7.000000000000001 and thus 8.
uint64_t rank_of(double q, uint64_t count) {
  if (!(q > 0)) return 1;
  if (q >= 1) return count;
  double rank = std::ceil(q * static_cast<double>(count) * (1 - 1e-12));
  return std::clamp<uint64_t>(static_cast<uint64_t>(rank), 1, count);
}

}  // namespace

uint32_t Histogram::bucket_of(uint64_t duration_nano) {
  if (duration_nano == 0) return 0;
  uint32_t bucket = kSlotBucket[slot_of(duration_nano)];
  return bucket + (duration_nano > kHigh[bucket]);
}

uint64_t Histogram::bucket_low_nano(uint32_t bucket) {
  return bucket == 0 ? 0 : bucket_high_nano(bucket - 1);
}

uint64_t Histogram::bucket_high_nano(uint32_t bucket) {
  return kHigh[std::min(bucket, kBuckets - 1)];
}

// The middle in the sense of relative error.
uint64_t Histogram::bucket_middle_nano(uint32_t bucket) {
  if (bucket == 0) return 0;
  uint64_t first = bucket_low_nano(bucket) + 1;
  uint64_t last = bucket_high_nano(bucket);
  uint64_t width = last - first;
  return first + static_cast<uint64_t>(static_cast<double>(width) *
                                       (static_cast<double>(first) / (static_cast<double>(first) + last)));
}

void Histogram::record(uint64_t duration_nano, uint64_t count) {
  if (count == 0) return;
  uint32_t bucket = bucket_of(duration_nano);
  auto at = std::lower_bound(buckets_.begin(), buckets_.end(), bucket,
                             [](const auto& entry, uint32_t value) { return entry.first < value; });
  if (at == buckets_.end() || at->first != bucket) at = buckets_.insert(at, {bucket, 0});
  at->second = add_saturating(at->second, count);
  count_ = add_saturating(count_, count);
  max_nano_ = std::max(max_nano_, duration_nano);
}

// From the back, into the room that new buckets take: answers add up hundreds of thousands of small histograms, mostly
// into buckets that are there.
void Histogram::merge(const Histogram& other) {
  size_t from = buckets_.size(), to = from + missing_buckets(buckets_, other.buckets_);
  buckets_.resize(to);
  for (size_t theirs = other.buckets_.size(); theirs-- > 0;) {
    const auto [bucket, count] = other.buckets_[theirs];
    while (from > 0 && buckets_[from - 1].first > bucket) buckets_[--to] = buckets_[--from];
    const bool shared = from > 0 && buckets_[from - 1].first == bucket;
    const uint64_t mine = shared ? buckets_[--from].second : 0;
    buckets_[--to] = {bucket, add_saturating(count, mine)};
  }
  count_ = add_saturating(count_, other.count_);
  max_nano_ = std::max(max_nano_, other.max_nano_);
}

uint64_t Histogram::quantile_nano(double q) const {
  if (empty()) return 0;
  uint64_t rank = rank_of(q, count_);
  if (rank == count_) return max_nano_;
  uint64_t below = 0;
  for (const auto& [bucket, count] : buckets_) {
    below = add_saturating(below, count);
    if (below >= rank) return std::min(bucket_middle_nano(bucket), max_nano_);
  }
  return max_nano_;
}

void Histogram::encode(std::string& out) const {
  ByteWriter writer(out);
  writer.varint(buckets_.size());
  uint32_t next = 0;
  for (const auto& [bucket, count] : buckets_) {
    writer.varint(bucket - next);
    writer.varint(count);
    next = bucket + 1;
  }
  if (!empty()) writer.varint(bucket_high_nano(buckets_.back().first) - max_nano_);
}

Result<Histogram> Histogram::decode(std::string_view& in) {
  ByteReader reader(in);
  uint64_t size = reader.varint();
  if (size > std::min<uint64_t>(kBuckets, reader.remaining() / 2)) return corrupt("histogram: too many buckets");
  Histogram histogram;
  histogram.buckets_.reserve(size);
  uint64_t next = 0;
  for (uint64_t i = 0; i < size; ++i) {
    uint64_t bucket = next + reader.varint32();
    uint64_t count = reader.varint();
    if (reader.failed() || bucket >= kBuckets || holds_no_duration(static_cast<uint32_t>(bucket)) || count == 0) {
      return corrupt("histogram: a bucket that cannot be");
    }
    histogram.buckets_.emplace_back(static_cast<uint32_t>(bucket), count);
    histogram.count_ = add_saturating(histogram.count_, count);
    next = bucket + 1;
  }
  if (size > 0) {
    uint64_t below_high = reader.varint();
    histogram.max_nano_ = kHigh[next - 1] - below_high;
    if (below_high > kHigh[next - 1] || bucket_of(histogram.max_nano_) != next - 1) {
      return corrupt("histogram: the maximum is not in the last bucket");
    }
  }
  if (reader.failed()) return corrupt("histogram: cut short");
  in.remove_prefix(in.size() - reader.remaining());
  return histogram;
}

}  // namespace fathom
