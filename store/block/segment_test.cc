#include <gtest/gtest.h>

#include <map>

#include "base/metrics.h"

#include "store/block/layout.h"
#include "store/block/testing/describe.h"
#include "store/block/testing/sample_segment.h"
#include "store/block/testing/wild_batches.h"

namespace fathom::store::block {
namespace {

struct Sealed {
  SampleSegment sample;
  std::vector<uint32_t> first_block;
  SegmentDirectoryPtr directory;
  std::unique_ptr<MapSource> source;
  std::unique_ptr<SegmentReader> reader;
};

Sealed seal(SampleSegment sample, const SegmentOptions& options = {}) {
  Sealed sealed;
  sealed.sample = std::move(sample);
  Result<EncodedSegment> encoded = encode_segment(sealed.sample.rows, sealed.sample.traces, options);
  EXPECT_TRUE(encoded.ok());
  auto order = [](const Chunk& a, const Chunk& b) {
    return std::pair(a.block, a.column) < std::pair(b.block, b.column);
  };
  EXPECT_TRUE(std::is_sorted(encoded->chunks.begin(), encoded->chunks.end(), order));
  sealed.first_block = encoded->first_block;
  Result<SegmentDirectoryPtr> directory = SegmentDirectory::open(encoded->directory);
  EXPECT_TRUE(directory.ok());
  sealed.directory = *directory;
  sealed.source = std::make_unique<MapSource>(std::move(encoded->chunks));
  sealed.reader = std::make_unique<SegmentReader>(sealed.directory, *sealed.source);
  return sealed;
}

constexpr SegmentOptions kOneBlock{.rows_per_block = 4096};

Sealed wild(uint64_t seed, SegmentOptions options = kOneBlock, size_t traces = 150, size_t batches = 8,
            size_t spans = 200) {
  SampleSegment sample = arrange(WildBatches(seed).make(batches, traces, spans, true));
  for (size_t i = 0; i < sample.rows.size(); i += 17) sample.rows[i].conflicting = true;
  for (size_t i = 0; i < sample.traces.size(); i += 5) {
    sample.traces[i].summary.grown = true;
    sample.traces[i].summary.spans += 3;
    sample.traces[i].summary.duration_nano += 99;
    sample.traces[i].summary.root_operation = 4'000'000'000;
  }
  return seal(std::move(sample), options);
}

uint32_t first_row_of(const Sealed& sealed, uint32_t block) {
  uint32_t first = 0;
  for (uint32_t b = 0; b < block; ++b) first += sealed.directory->zone(b).rows;
  return first;
}

void expect_same_rows(Sealed& sealed, uint32_t block, uint32_t first, uint32_t count) {
  Result<StoredRows> rows = sealed.reader->rows(block, first, count);
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(rows->rows.size(), count);
  uint32_t base = first_row_of(sealed, block) + first;
  Batch::Scratch scratch;
  for (uint32_t i = 0; i < count; ++i) {
    ASSERT_EQ(describe(rows->rows[i]), describe(stored_row(sealed.sample.rows[base + i], scratch))) << "row " << i;
  }
}

class SegmentRoundTrip : public ::testing::TestWithParam<uint64_t> {};

TEST_P(SegmentRoundTrip, EveryFieldOfEveryRow) {
  Sealed sealed = wild(GetParam(), {.rows_per_block = 300});
  EXPECT_EQ(sealed.directory->rows(), sealed.sample.rows.size());
  EXPECT_GT(sealed.directory->block_count(), 4u);
  for (uint32_t b = 0; b < sealed.directory->block_count(); ++b) {
    expect_same_rows(sealed, b, 0, sealed.directory->zone(b).rows);
  }
}

TEST_P(SegmentRoundTrip, AnyPartOfABlock) {
  Sealed sealed = wild(GetParam());
  uint32_t rows = sealed.directory->zone(0).rows;
  ASSERT_EQ(sealed.directory->block_count(), 1u);
  for (uint32_t first : {0u, 1u, 77u, rows - 1}) expect_same_rows(sealed, 0, first, std::min(9u, rows - first));
  expect_same_rows(sealed, 0, rows, 0);
}

TEST_P(SegmentRoundTrip, TracesTimesAndIds) {
  Sealed sealed = wild(GetParam(), {.rows_per_block = 400});
  size_t next_trace = 0, next_row = 0;
  for (uint32_t b = 0; b < sealed.directory->block_count(); ++b) {
    Result<std::span<const BlockTrace>> traces = sealed.reader->traces(b);
    Result<BlockTimes> times = sealed.reader->times(b);
    Result<BlockIds> ids = sealed.reader->ids(b);
    ASSERT_TRUE(traces.ok() && times.ok() && ids.ok());
    for (const BlockTrace& trace : *traces) {
      const SegmentTrace& expected = sealed.sample.traces[next_trace++];
      EXPECT_EQ(trace.id, expected.id);
      EXPECT_EQ(trace.row_count, expected.row_count);
      EXPECT_EQ(trace.summary, expected.summary);
      EXPECT_EQ(sealed.first_block[next_trace - 1], b);
    }
    for (uint32_t i = 0; i < sealed.directory->zone(b).rows; ++i) {
      const SegmentRow& row = sealed.sample.rows[next_row++];
      EXPECT_EQ(times->start_unix_nano[i], corrected_start(row));
      EXPECT_EQ(times->duration_nano[i], duration_of(row));
      EXPECT_EQ(times->operation[i], row.operation);
      EXPECT_EQ(times->sequence[i], row.sequence);
      EXPECT_EQ(times->error[i], row.row->status == StatusCode::kError);
      EXPECT_EQ(ids->span[i], row.row->span_id);
      EXPECT_EQ(ids->parent[i], row.row->parent_span_id);
    }
  }
  EXPECT_EQ(next_trace, sealed.sample.traces.size());
}

// Key and text to the rows that have it, by looking at every row.
using RowsByText = std::map<std::pair<std::string, std::string>, std::set<uint32_t>>;

RowsByText rows_by_text(const Sealed& sealed, uint32_t block) {
  RowsByText found;
  Batch::Scratch scratch;
  uint32_t base = first_row_of(sealed, block);
  for (uint32_t i = 0; i < sealed.directory->zone(block).rows; ++i) {
    StoredRow row = stored_row(sealed.sample.rows[base + i], scratch);
    for (const auto& list : {row.span.attributes, row.resource.attributes}) {
      for (const AttributeView& a : list) found[{std::string(a.key), value_text(a.value)}].insert(i);
    }
  }
  return found;
}

TEST_P(SegmentRoundTrip, MatchFindsExactlyTheRows) {
  Sealed sealed = wild(GetParam(), {.rows_per_block = 800});
  for (uint32_t b = 0; b < sealed.directory->block_count(); ++b) {
    for (const auto& [pair, rows] : rows_by_text(sealed, b)) {
      EXPECT_TRUE(sealed.reader->may_contain(b, pair.first, pair.second)->any());
      Result<std::vector<uint32_t>> found = sealed.reader->match(b, pair.first, pair.second);
      ASSERT_TRUE(found.ok());
      EXPECT_EQ(*found, std::vector<uint32_t>(rows.begin(), rows.end())) << pair.first << "=" << pair.second;
      Result<std::vector<uint32_t>> other = sealed.reader->match(b, pair.first, pair.second + "x");
      EXPECT_TRUE(other.ok() && other->empty());
    }
  }
}

TEST_P(SegmentRoundTrip, ValueCountsAreRows) {
  Sealed sealed = wild(GetParam());
  std::map<std::pair<std::string, std::string>, uint64_t> expected, counted;
  for (const auto& [pair, rows] : rows_by_text(sealed, 0)) expected[pair] = rows.size();
  for (const std::string& key : sealed.directory->attribute_keys()) {
    Result<std::vector<ValueRows>> counts = sealed.reader->value_counts(0, key);
    ASSERT_TRUE(counts.ok());
    for (const ValueRows& value : *counts) counted[{key, value.value}] += value.rows;
  }
  EXPECT_EQ(counted, expected);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SegmentRoundTrip, testing::Values(1, 2, 3, 4));

TEST(Segment, OneRowAloneIsASegment) {
  Sealed sealed = wild(5, kOneBlock, 1, 1, 1);
  EXPECT_EQ(sealed.directory->traces(), 1u);
  expect_same_rows(sealed, 0, 0, 1);
}

TEST(Segment, NoRowsAreASegmentToo) {
  Sealed sealed = seal({});
  EXPECT_EQ(sealed.directory->block_count(), 0u);
  EXPECT_EQ(sealed.reader->may_contain(0, "key", "value").error().code, ErrorCode::kCorrupt);
  EXPECT_TRUE(sealed.reader->locate(TraceId{}, 0)->empty());
}

TEST(Segment, TraceBiggerThanABlockIsLocatedInAll) {
  Sealed sealed = wild(6, {.rows_per_block = 64}, 3, 4, 150);
  for (size_t t = 0; t < sealed.sample.traces.size(); ++t) {
    const SegmentTrace& trace = sealed.sample.traces[t];
    Result<std::vector<RowRange>> ranges = sealed.reader->locate(trace.id, sealed.first_block[t]);
    ASSERT_TRUE(ranges.ok());
    EXPECT_GT(ranges->size(), 1u);
    uint32_t rows = 0;
    for (const RowRange& range : *ranges) {
      EXPECT_EQ(first_row_of(sealed, range.block) + range.first_row, trace.first_row + rows);
      expect_same_rows(sealed, range.block, range.first_row, range.row_count);
      rows += range.row_count;
      std::span<const BlockTrace> there = *sealed.reader->traces(range.block);
      EXPECT_TRUE(
          std::any_of(there.begin(), there.end(), [&](const BlockTrace& b) { return b.summary == trace.summary; }));
    }
    EXPECT_EQ(rows, trace.row_count);
  }
}

TEST(Segment, BlocksEndByBytesToo) {
  Sealed sealed = wild(7, {.bytes_per_block = 4000});
  EXPECT_GT(sealed.directory->block_count(), 20u);
  for (uint32_t b = 0; b < sealed.directory->block_count(); ++b) {
    expect_same_rows(sealed, b, 0, sealed.directory->zone(b).rows);
  }
}

TEST(Segment, ZonesBoundTheirRows) {
  Sealed sealed = wild(8, {.rows_per_block = 128});
  for (uint32_t b = 0; b < sealed.directory->block_count(); ++b) {
    const BlockZone& zone = sealed.directory->zone(b);
    BlockTimes times = *sealed.reader->times(b);
    auto [least, most] = std::minmax_element(times.start_unix_nano.begin(), times.start_unix_nano.end());
    EXPECT_EQ(zone.min_start_unix_nano, *least);
    EXPECT_EQ(zone.max_start_unix_nano, *most);
    EXPECT_EQ(zone.max_span_duration_nano, *std::max_element(times.duration_nano.begin(), times.duration_nano.end()));
    EXPECT_EQ(zone.min_sequence, *std::min_element(times.sequence.begin(), times.sequence.end()));
    EXPECT_EQ(zone.max_sequence, *std::max_element(times.sequence.begin(), times.sequence.end()));
    std::set<uint32_t> operations(times.operation.begin(), times.operation.end());
    EXPECT_EQ(zone.operations, std::vector<uint32_t>(operations.begin(), operations.end()));
    uint64_t longest = 0, earliest = UINT64_MAX, latest = 0;
    std::span<const BlockTrace> traces = *sealed.reader->traces(b);
    for (const BlockTrace& trace : traces) {
      longest = std::max(longest, trace.summary.duration_nano);
      earliest = std::min(earliest, trace.summary.start_unix_nano);
      latest = std::max(latest, trace.summary.start_unix_nano);
    }
    EXPECT_EQ(zone.max_trace_duration_nano, longest);
    EXPECT_EQ(zone.min_trace_start_unix_nano, earliest);
    EXPECT_EQ(zone.max_trace_start_unix_nano, latest);
  }
}

Counter& unlisted() {
  return counter("fathom_limited_total", "", "limit=\"listed_attribute_keys\"");
}

TEST(Segment, ManyKeysDoNotMakeManyColumns) {
  BatchBuilder builder;
  std::deque<std::string> names;
  for (uint32_t i = 0; i < 3000; ++i) {
    SpanView span;
    span.trace_id.bytes[0] = span.span_id.bytes[0] = static_cast<uint8_t>(i % 50 + 1);
    span.span_id.bytes[7] = static_cast<uint8_t>(i / 50);
    std::vector<AttributeView> attributes;
    for (int k = 0; k < 4; ++k) {
      attributes.push_back({names.emplace_back("k" + std::to_string(i * 4 + k)), ValueView::of_int(i)});
    }
    for (int k = 0; k < 100 && i < 20; ++k) {
      attributes.push_back({names.emplace_back("w" + std::to_string(k)), ValueView::of_int(k)});
    }
    span.attributes = attributes;
    builder.add(span);
  }
  uint64_t before = unlisted().value();
  Sealed sealed = seal(arrange({builder.finish()}), {.rows_per_block = 4096});
  EXPECT_EQ(unlisted().value() - before, 12'000 + 100 - kMaxListedKeys);
  EXPECT_LE(sealed.source->chunks_.size(), 16 + kOwnColumnsPerBlock);
  EXPECT_EQ(sealed.directory->attribute_keys().size(), kMaxListedKeys);
  EXPECT_EQ(sealed.reader->match(0, "k11999", "2999")->size(), 1u);  // not listed, but found
  EXPECT_EQ(sealed.reader->match(0, "w7", "7")->size(), 20u);
  EXPECT_TRUE(sealed.reader->match(0, "k11999", "2998")->empty());
  expect_same_rows(sealed, 0, 0, 3000);
}

// 40 rows with four frequent keys and one rare one: even those that would have a column of their own are bounded.
TEST(Segment, ListsNoMoreKeysThanItIsTold) {
  BatchBuilder builder;
  AttributeView resource[] = {{"service.name", ValueView::of_string("shop")}};
  builder.set_resource({.attributes = resource});
  for (uint8_t i = 1; i <= 40; ++i) {
    std::vector<AttributeView> attributes;
    for (const char* key : {"a", "b", "c", "d"}) attributes.push_back({key, ValueView::of_int(i)});
    if (i == 7) attributes.push_back({"rare", ValueView::of_bool(true)});
    SpanView span;
    span.trace_id.bytes[0] = span.span_id.bytes[0] = i;
    span.attributes = attributes;
    builder.add(span);
  }
  BatchPtr batch = builder.finish();
  for (uint32_t limit : {0u, 2u, 5u, UINT32_MAX}) {
    SCOPED_TRACE(limit);
    uint64_t before = unlisted().value();
    Sealed sealed = seal(arrange({batch}), {.listed_keys = limit});
    size_t listed = std::min(limit, 6u);
    EXPECT_EQ(sealed.directory->attribute_keys().size(), listed);
    EXPECT_EQ(unlisted().value() - before, 6 - listed);
    for (const char* key : {"a", "b", "c", "d"}) {
      EXPECT_EQ(sealed.reader->match(0, key, "9")->size(), 1u) << key;
      EXPECT_EQ(sealed.reader->value_counts(0, key)->size(), 40u) << key;
    }
    EXPECT_EQ(sealed.reader->match(0, "rare", "true")->size(), 1u);
    EXPECT_EQ(sealed.reader->match(0, "service.name", "shop")->size(), 40u);
    expect_same_rows(sealed, 0, 0, 40);
  }
}

TEST(Segment, AbsentKeyReadsNoChunk) {
  Sealed sealed = wild(9);
  sealed.source->reads = 0;
  EXPECT_TRUE(sealed.reader->match(0, "key.77", "nothing")->empty());
  EXPECT_EQ(sealed.source->reads, 0u);  // the key does not exist: the directory alone says so
}

// 600 rows, each a trace, in ten blocks; one of them has tier=canary.
SampleSegment one_canary() {
  BatchBuilder builder;
  AttributeView resource[] = {{"service.name", ValueView::of_string("shop")}};
  builder.set_resource({.attributes = resource});
  for (uint64_t i = 1; i <= 600; ++i) {
    AttributeView attributes[] = {{"tier", ValueView::of_string(i == 250 ? "canary" : "gold")},
                                  {"request", ValueView::of_int(static_cast<int64_t>(i))}};
    SpanView span;
    span.trace_id.bytes[0] = static_cast<uint8_t>(i >> 8);
    span.trace_id.bytes[1] = static_cast<uint8_t>(i);
    span.span_id.bytes[0] = 1;
    span.attributes = attributes;
    builder.add(span);
  }
  return arrange({builder.finish()});
}

TEST(Segment, OnlyBlocksThatCanHaveAPairAreRead) {
  Sealed sealed = seal(one_canary(), {.rows_per_block = 60});
  ASSERT_EQ(sealed.directory->block_count(), 10u);
  EXPECT_FALSE(sealed.reader->match(0, "tier", "bronze")->size());
  for (const char* tier : {"gold", "canary"})
    (void)sealed.reader->may_contain(0, "tier", tier)->any();  // reads the filter
  std::vector<uint32_t> read;
  for (uint32_t b = 0; b < 10; ++b) {
    uint64_t before = sealed.source->reads;
    EXPECT_EQ(sealed.reader->match(b, "tier", "canary")->size(), b == 4 ? 1u : 0u) << b;
    if (sealed.source->reads != before) read.push_back(b);
    EXPECT_TRUE(sealed.reader->may_contain(b, "tier", "gold")->any());
    EXPECT_TRUE(sealed.reader->may_contain(b, "service.name", "shop")->any()) << "resources are every block's";
  }
  EXPECT_LE(read.size(), 2u) << "a false alarm in a hundred";
  EXPECT_NE(std::find(read.begin(), read.end(), 4u), read.end());
}

// Of 40 traces, those from the 37th on last longest.
TEST(Segment, FiltersTellSlowTracesFromOthers) {
  BatchBuilder builder;
  for (uint8_t i = 1; i <= 40; ++i) {
    AttributeView attributes[] = {{"number", ValueView::of_int(i)}, {"all", ValueView::of_bool(true)}};
    SpanView span;
    span.trace_id.bytes[0] = span.span_id.bytes[0] = i;
    span.start_unix_nano = 1000;
    span.end_unix_nano = 1000 + (i > 36 ? 500u : i);
    span.attributes = attributes;
    builder.add(span);
  }
  Sealed sealed = seal(arrange({builder.finish()}));
  EXPECT_GT(sealed.directory->slow_trace_nano(), 30u);
  EXPECT_LE(sealed.directory->slow_trace_nano(), 500u);
  size_t false_alarms = 0;
  for (int i = 1; i <= 40; ++i) {
    FilterHalves halves = *sealed.reader->may_contain(0, "number", std::to_string(i));
    bool slow = i > 36 || static_cast<uint64_t>(i) >= sealed.directory->slow_trace_nano();
    EXPECT_TRUE(slow ? halves.slow : halves.rest) << i;
    false_alarms += slow ? halves.rest : halves.slow;
  }
  EXPECT_LT(false_alarms, 5u);
  FilterHalves all = *sealed.reader->may_contain(0, "all", "true");
  EXPECT_TRUE(all.slow && all.rest);
}

TEST(Segment, AFilterOfOtherBlocksIsCorrupt) {
  Sealed ten = seal(one_canary(), {.rows_per_block = 60}), six = seal(one_canary(), {.rows_per_block = 100});
  std::pair<uint32_t, uint32_t> filter{kFirstFilterPage, 0};
  std::swap(ten.source->chunks_[filter], six.source->chunks_[filter]);
  EXPECT_EQ(ten.reader->match(0, "tier", "gold").error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(six.reader->match(0, "tier", "gold").error().code, ErrorCode::kCorrupt);
}

TEST(Segment, MissingAndDamagedChunksAreCorrupt) {
  Sealed sealed = wild(10);
  auto& chunks = sealed.source->chunks_;
  uint32_t rows = sealed.directory->zone(0).rows;
  // All of it: every row, and the filter.
  auto read_all = [&] {
    SegmentReader reader(sealed.directory, *sealed.source);
    Result<StoredRows> read = reader.rows(0, 0, rows);
    if (!read) return read.error();
    Result<FilterHalves> asked = reader.may_contain(0, "service.name", "shop");
    return asked ? Error{} : asked.error();
  };
  for (auto& [key, bytes] : chunks) {
    std::shared_ptr<const std::string> whole = bytes;
    for (size_t at : {size_t{0}, size_t{3}, whole->size() / 2, whole->size() - 1}) {
      std::string broken = *whole;
      broken[at] = static_cast<char>(broken[at] ^ 0x10);
      bytes = std::make_shared<const std::string>(broken);
      ASSERT_EQ(read_all().code, ErrorCode::kCorrupt);
    }
    bytes = std::make_shared<const std::string>();
    EXPECT_EQ(read_all().code, ErrorCode::kCorrupt);
    bytes = whole;
  }
  chunks.erase({0, kIdsColumn});
  EXPECT_EQ(SegmentReader(sealed.directory, *sealed.source).rows(0, 0, rows).error().code, ErrorCode::kCorrupt);
}

TEST(Segment, QuestionsBeyondTheSegmentAreErrors) {
  Sealed sealed = wild(11);
  EXPECT_FALSE(sealed.reader->traces(1).ok());
  EXPECT_FALSE(sealed.reader->rows(0, 1, UINT32_MAX).ok());
}

TEST(Summary, RoundTripAndTruncation) {
  TraceSummary summary{1,     UINT64_MAX, 3,   *SpanId::from_hex_text("0102030405060708"), 9, 10, 11, true,
                       false, true,       true};
  std::string bytes;
  encode_summary(summary, bytes);
  ByteReader in(bytes);
  EXPECT_EQ(*decode_summary(in), summary);
  EXPECT_TRUE(in.at_end());
  for (size_t size = 0; size < bytes.size(); ++size) {
    ByteReader cut(std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(decode_summary(cut).ok());
  }
}

}  // namespace
}  // namespace fathom::store::block
