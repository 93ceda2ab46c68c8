// Segments of every released version of the format must stay readable. To add one after a new version: run this test
// with FATHOM_WRITE_GOLDEN set to the directory of the golden files, and commit what it wrote.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "store/block/layout.h"
#include "store/block/testing/describe.h"
#include "store/block/testing/sample_segment.h"
#include "store/block/testing/segment_file.h"
#include "store/block/testing/wild_batches.h"

namespace fathom::store::block {
namespace {

std::string golden_path(const std::string& directory, int version, const char* suffix) {
  return directory + "/segment-v" + std::to_string(version) + suffix;
}

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Everything that a segment says, as text.
std::string describe_segment(const std::string& file) {
  EncodedSegment segment = from_file(file);
  Result<SegmentDirectoryPtr> directory = SegmentDirectory::open(segment.directory);
  if (!directory.ok()) return directory.error().message;
  MapSource source(std::move(segment.chunks));
  SegmentReader reader(*directory, source);
  std::string text;
  for (uint32_t b = 0; b < (*directory)->block_count(); ++b) {
    Result<std::span<const BlockTrace>> traces = reader.traces(b);
    Result<StoredRows> rows = reader.rows(b, 0, (*directory)->zone(b).rows);
    if (!traces.ok() || !rows.ok()) return "block " + std::to_string(b) + " is damaged";
    for (const BlockTrace& trace : *traces) {
      std::string summary;
      encode_summary(trace.summary, summary);
      text += "trace " + trace.id.hex() + " " + to_hex(summary) + "\n";
    }
    for (const StoredRow& row : rows->rows) text += describe(row) + "\n";
  }
  for (const std::string& key : (*directory)->attribute_keys()) text += "key " + key + "\n";
  return text;
}

// Every attribute of the segment is found by its text, so its filter is read rightly.
void expect_attributes_found(const std::string& file) {
  EncodedSegment segment = from_file(file);
  Result<SegmentDirectoryPtr> directory = SegmentDirectory::open(segment.directory);
  ASSERT_TRUE(directory.ok());
  MapSource source(std::move(segment.chunks));
  SegmentReader reader(*directory, source);
  Result<StoredRows> rows = reader.rows(0, 0, (*directory)->zone(0).rows);
  ASSERT_TRUE(rows.ok());
  size_t absent = 0;
  for (const StoredRow& row : rows->rows) {
    for (const AttributeView& attribute : row.span.attributes) {
      std::string text = value_text(attribute.value);
      EXPECT_TRUE(reader.may_contain(0, attribute.key, text)->any()) << attribute.key << "=" << text;
      absent += reader.may_contain(0, attribute.key, text + " that nobody sent")->any() ? 0 : 1;
    }
  }
  EXPECT_GT(absent, 0u) << "the filter says yes to everything";
}

void write_golden(const std::string& directory) {
  SampleSegment sample = arrange(WildBatches(20).make(3, 12, 30, true));
  Result<EncodedSegment> encoded = encode_segment(sample.rows, sample.traces, {.rows_per_block = 50});
  ASSERT_TRUE(encoded.ok());
  std::string file = to_file(*encoded);
  std::ofstream(golden_path(directory, kVersion, ".bin"), std::ios::binary) << file;
  std::ofstream(golden_path(directory, kVersion, ".txt"), std::ios::binary) << describe_segment(file);
}

TEST(SegmentGolden, EveryVersionReads) {
  if (const char* directory = std::getenv("FATHOM_WRITE_GOLDEN")) write_golden(directory);
  for (int version = 1; version <= kVersion; ++version) {
    std::string file = read_all(golden_path(FATHOM_TESTDATA, version, ".bin"));
    ASSERT_FALSE(file.empty()) << version;
    EXPECT_EQ(describe_segment(file), read_all(golden_path(FATHOM_TESTDATA, version, ".txt"))) << version;
    expect_attributes_found(file);
  }
}

TEST(SegmentGolden, NewerVersionsAreRefusedByName) {
  EncodedSegment segment = from_file(read_all(golden_path(FATHOM_TESTDATA, kVersion, ".bin")));
  segment.directory[0] = static_cast<char>(kVersion + 1);
  Result<SegmentDirectoryPtr> directory = SegmentDirectory::open(segment.directory);
  ASSERT_FALSE(directory.ok());
  EXPECT_NE(directory.error().message.find("version " + std::to_string(kVersion + 1)), std::string::npos);
}

}  // namespace
}  // namespace fathom::store::block
