#include "store/index/slow_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "base/bytes.h"
#include "base/hash.h"

namespace fathom::store {
namespace {

enum class Of { kSpans, kTraces };

template <typename IdType>
IdType id_of(uint64_t number) {
  IdType id;
  std::memcpy(id.bytes.data(), &number, 8);
  id.bytes.back() = 1;
  return id;
}

// Few distinct values of everything, so that ties and repeated ids are common.
SlowEntry random_entry(std::mt19937_64& random, Of of, uint64_t variety) {
  SlowEntry entry;
  entry.duration_nano = random() % variety * 1'000;
  entry.start_unix_nano = 1'700'000'000'000'000'000 + random() % 3;
  entry.trace_id = id_of<TraceId>(random() % (variety * 2));
  if (of == Of::kSpans) entry.span_id = id_of<SpanId>(random() % 3);
  // A trace keeps its first span, unless retention takes it.
  entry.first_sequence = of == Of::kSpans ? random() % 5 : hash64(entry.trace_id.view()) % 5;
  entry.operation = static_cast<uint32_t>(random() % 3);
  entry.error = random() % 4 == 0;
  return entry;
}

std::vector<SlowEntry> random_entries(std::mt19937_64& random, Of of, size_t size, uint64_t variety) {
  std::vector<SlowEntry> entries(size);
  for (SlowEntry& entry : entries) entry = random_entry(random, of, variety);
  return entries;
}

bool stand_for_the_same(const SlowEntry& a, const SlowEntry& b) {
  if (a.key() == b.key()) return true;
  return a.span_id.is_zero() && b.span_id.is_zero() && a.trace_id == b.trace_id;
}

// The definition, word by word: every entry is compared with every other.
SlowList brute_force(const std::vector<SlowEntry>& candidates) {
  std::vector<SlowEntry> kept;
  for (const SlowEntry& candidate : candidates) {
    bool stands = true;
    SlowEntry collapsed = candidate;
    for (const SlowEntry& other : candidates) {
      if (!stand_for_the_same(candidate, other)) continue;
      if (slower(other.key(), candidate.key())) stands = false;
      if (other.key() != candidate.key()) continue;
      collapsed.error |= other.error;
      if (std::tie(other.first_sequence, other.operation) < std::tie(collapsed.first_sequence, collapsed.operation)) {
        collapsed.first_sequence = other.first_sequence;
        collapsed.operation = other.operation;
      }
    }
    bool known = std::any_of(kept.begin(), kept.end(), [&](auto& entry) { return entry.key() == candidate.key(); });
    if (stands && !known) kept.push_back(collapsed);
  }
  std::sort(kept.begin(), kept.end(), [](auto& a, auto& b) { return slower(a.key(), b.key()); });
  SlowList list;
  for (const SlowEntry& entry : kept) {
    if (list.entries.size() < SlowList::kCapacity) {
      list.entries.push_back(entry);
    } else {
      list.raise_floor(entry.duration_nano);
    }
  }
  return list;
}

// A trace's shorter entry may be gone before its longer one comes: then the floor is higher than it had to be, but
// never so high that it covers what is listed, and never too low.
void expect_same(const SlowList& got, const SlowList& want, Of of, const std::string& where) {
  ASSERT_EQ(got.entries, want.entries) << where;
  if (of == Of::kSpans) {
    ASSERT_EQ(got, want) << where;
    return;
  }
  ASSERT_GE(got.truncated, want.truncated) << where;
  ASSERT_GE(got.floor_nano, want.floor_nano) << where;
  if (got.truncated) {
    ASSERT_LE(got.floor_nano, got.entries.back().duration_nano) << where;
  }
}

std::string encoded_list(const SlowList& list) {
  std::string out;
  list.encode(out);
  return out;
}

class SlowListOf : public ::testing::TestWithParam<Of> {};

TEST_P(SlowListOf, CandidatesEqualsBruteForce) {
  for (uint64_t seed = 0; seed < 80; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<SlowEntry> entries = random_entries(random, GetParam(), random() % 300, 1 + random() % 200);
    expect_same(SlowList::of(entries), brute_force(entries), GetParam(), "seed " + std::to_string(seed));
  }
}

// Lists of parts, merged pair by pair in a random order until one is left.
TEST_P(SlowListOf, PartsMergedEqualsBruteForce) {
  for (uint64_t seed = 0; seed < 80; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<SlowEntry> all;
    std::vector<SlowList> parts(1 + random() % 8);
    uint64_t variety = 1 + random() % 300;
    for (SlowList& part : parts) {
      std::vector<SlowEntry> entries = random_entries(random, GetParam(), random() % 100, variety);
      part = SlowList::of(entries);
      all.insert(all.end(), entries.begin(), entries.end());
    }
    while (parts.size() > 1) {
      std::swap(parts[random() % (parts.size() - 1)], parts[parts.size() - 2]);
      parts[parts.size() - 2].merge(parts.back());
      parts.pop_back();
    }
    expect_same(parts[0], brute_force(all), GetParam(), "seed " + std::to_string(seed));
  }
}

TEST_P(SlowListOf, EntriesComesBackFromItsBytes) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    SlowList list = SlowList::of(random_entries(random, GetParam(), random() % 100, 1 + random() % 100));
    if (seed % 3 == 0) {
      for (SlowEntry& entry : list.entries) entry.operation = 7;
    }
    std::string bytes = encoded_list(list);
    Result<SlowList> decoded = SlowList::decode(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    ASSERT_EQ(*decoded, list);
    for (size_t cut = 0; cut < bytes.size(); ++cut) ASSERT_FALSE(SlowList::decode(bytes.substr(0, cut)).ok());
    ASSERT_FALSE(SlowList::decode(bytes + '\0').ok());
  }
}

INSTANTIATE_TEST_SUITE_P(All, SlowListOf, testing::Values(Of::kSpans, Of::kTraces),
                         [](auto& info) { return info.param == Of::kSpans ? "Spans" : "Traces"; });

SlowEntry trace_entry(uint64_t trace, uint64_t duration_nano) {
  SlowEntry entry;
  entry.trace_id = id_of<TraceId>(trace);
  entry.duration_nano = duration_nano;
  return entry;
}

SlowList sixty_four_traces() {
  SlowList list;
  for (uint64_t i = 0; i < SlowList::kCapacity; ++i) list.add(trace_entry(i, 1'000 + i));
  return list;
}

TEST(SlowList, IsNotTruncatedWhileAllFits) {
  SlowList list = sixty_four_traces();
  EXPECT_FALSE(list.truncated);
  EXPECT_EQ(list.floor_nano, 0u);
  list.add(trace_entry(100, 7));
  EXPECT_TRUE(list.truncated);
  EXPECT_EQ(list.floor_nano, 7u);
  list.add(trace_entry(101, 5'000));
  EXPECT_EQ(list.floor_nano, 1'000u);
  EXPECT_EQ(list.entries.front().trace_id, id_of<TraceId>(101));
}

TEST(SlowList, ATraceThatGrowsEvictsNobody) {
  SlowList list = sixty_four_traces();
  list.add(trace_entry(3, 9'000));
  EXPECT_FALSE(list.truncated);
  EXPECT_EQ(list.entries.size(), SlowList::kCapacity);
  list.add(trace_entry(3, 10));
  EXPECT_FALSE(list.truncated);
  EXPECT_EQ(list.entries.front().duration_nano, 9'000u);
  SlowList other;
  other.add(trace_entry(5, 8'000));
  list.merge(other);
  EXPECT_FALSE(list.truncated);
  EXPECT_EQ(list.entries[1].duration_nano, 8'000u);
}

// Its first span is gone, so it is shorter than it was, and that is no reason to show what it was.
TEST(SlowList, ATraceThatLostSpansStandsAsItIsNow) {
  SlowEntry was = trace_entry(3, 9'000), is = trace_entry(3, 500);
  was.first_sequence = 1;
  is.first_sequence = 7;
  for (const bool is_last : {false, true}) {
    SlowList added = SlowList::of(std::array{is_last ? was : is, is_last ? is : was, trace_entry(4, 700)});
    SlowList merged = SlowList::of(std::array{is_last ? was : is, trace_entry(4, 700)});
    merged.merge(SlowList::of(std::array{is_last ? is : was}));
    for (const SlowList& list : {added, merged}) {
      ASSERT_EQ(list.entries.size(), 2u);
      EXPECT_EQ(list.entries[1], is);
    }
  }
}

TEST(SlowList, ExtremesComeBack) {
  SlowList list;
  SlowEntry longest = trace_entry(1, UINT64_MAX);
  longest.start_unix_nano = UINT64_MAX;
  longest.first_sequence = UINT64_MAX;
  longest.operation = UINT32_MAX;
  longest.error = true;
  list.add(longest);
  list.add(trace_entry(2, 0));
  list.raise_floor(UINT64_MAX);
  EXPECT_EQ(SlowList::decode(encoded_list(list)).value(), list);
  EXPECT_EQ(SlowList::decode(encoded_list(SlowList())).value(), SlowList());
}

// A segment merges a list for each operation and minute, most of them with few entries.
TEST(SlowList, AMergedListTakesMemoryForItsEntriesOnly) {
  std::mt19937_64 random(1);
  SlowList merged;
  merged.merge(SlowList::of(std::array{random_entry(random, Of::kTraces, 100)}));
  EXPECT_EQ(merged.entries.capacity(), 1u);
}

TEST(SlowList, HasTheseBytes) {
  SlowList list;
  SlowEntry entry;
  entry.duration_nano = 300;
  entry.start_unix_nano = 1'000;
  entry.trace_id = id_of<TraceId>(0xaa);
  entry.span_id = id_of<SpanId>(0xbb);
  entry.first_sequence = 9;
  entry.operation = 4;
  entry.error = true;
  list.add(entry);
  entry.duration_nano = 299;
  entry.start_unix_nano = 1'001;
  entry.operation = 5;
  entry.error = false;
  list.add(entry);
  list.raise_floor(2);
  std::string trace = "aa" + std::string(28, '0') + "01";
  std::string span = "bb" + std::string(12, '0') + "01";
  EXPECT_EQ(to_hex(encoded_list(list)),
            "31"
            "02"
            "02"
            "ac02"
            "e807"
            "09"
            "0000" +
                trace + span +
                "0009"
                "0101" +
                trace + span + "000a");
}

TEST(SlowList, OfOneOperationHasTheseBytes) {
  SlowList list;
  SlowEntry entry = trace_entry(0xaa, 5);
  entry.operation = 300;
  entry.error = true;
  list.add(entry);
  EXPECT_EQ(to_hex(encoded_list(list)),
            "41"
            "01"
            "05"
            "00"
            "00"
            "ac02"
            "0000"
            "aa" +
                std::string(28, '0') +
                "01"
                "0001");
}

// Forged lists: what merge() relies on must not be taken from bytes on trust.
class Forged {
 public:
  explicit Forged(uint8_t flags = 0x21, uint64_t size = 2) : writer_(bytes_) {
    writer_.u8(flags);
    writer_.varint(size);
    shared(100, 1, 1);
  }
  Forged& shared(uint64_t longest, uint64_t start, uint64_t sequence) {
    bytes_.resize(2);
    for (uint64_t value : {longest, start, sequence}) writer_.varint(value);
    return *this;
  }
  Forged& entry(uint64_t shorter, uint64_t start, uint64_t trace, uint64_t span, uint64_t sequence,
                uint64_t operation) {
    writer_.varint(shorter);
    writer_.varint(start);
    writer_.raw(id_of<TraceId>(trace).view());
    SpanId id = span == 0 ? SpanId() : id_of<SpanId>(span);
    writer_.raw(id.view());
    writer_.varint(sequence);
    writer_.varint(operation);
    return *this;
  }
  bool refused() const {
    Result<SlowList> decoded = SlowList::decode(bytes_);
    return !decoded.ok() && decoded.error().code == ErrorCode::kCorrupt;
  }

 private:
  std::string bytes_;
  ByteWriter writer_;
};

TEST(SlowList, RefusesForgedBytes) {
  EXPECT_FALSE(Forged().entry(0, 0, 1, 1, 0, 0).entry(0, 0, 2, 1, 0, 0).refused());
  EXPECT_TRUE(Forged().entry(0, 0, 2, 1, 0, 0).entry(0, 0, 1, 1, 0, 0).refused()) << "out of order";
  EXPECT_TRUE(Forged().entry(0, 0, 1, 1, 0, 0).entry(0, 0, 1, 1, 0, 0).refused()) << "twice the same";
  EXPECT_TRUE(Forged().entry(0, 0, 1, 0, 0, 0).entry(1, 0, 1, 0, 0, 0).refused()) << "twice the same trace";
  EXPECT_TRUE(Forged().entry(0, 0, 1, 1, 0, 0).entry(101, 0, 2, 1, 0, 0).refused()) << "shorter than nothing";
  EXPECT_TRUE(Forged().entry(0, UINT64_MAX, 1, 1, 0, 0).entry(1, 0, 2, 1, 0, 0).refused()) << "starts after the end";
  EXPECT_TRUE(Forged().entry(0, 0, 1, 1, UINT64_MAX, 0).entry(1, 0, 2, 1, 0, 0).refused()) << "sequence overflows";
  EXPECT_TRUE(Forged().entry(0, 0, 1, 1, 0, 1ull << 33).entry(1, 0, 2, 1, 0, 0).refused()) << "operation overflows";
  EXPECT_TRUE(Forged(0x21, 65).entry(0, 0, 1, 1, 0, 0).refused()) << "too many";
  EXPECT_TRUE(Forged(0x22).entry(0, 0, 1, 1, 0, 0).entry(1, 0, 2, 1, 0, 0).refused()) << "another version";
  EXPECT_TRUE(Forged(0xa1).entry(0, 0, 1, 1, 0, 0).entry(1, 0, 2, 1, 0, 0).refused()) << "an unknown flag";
}

}  // namespace
}  // namespace fathom::store
