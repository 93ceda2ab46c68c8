// Captures of every released version must stay readable. To add one after a new version: run this test with
// FATHOM_WRITE_GOLDEN set to the directory of the golden files, and commit what it wrote.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "capture/decode.h"
#include "capture/encode.h"
#include "capture/format.h"
#include "capture/testing/describe.h"
#include "capture/testing/random_capture.h"

namespace fathom::capture {
namespace {

std::string golden_path(const std::string& directory, int version, const char* suffix) {
  return directory + "/capture-v" + std::to_string(version) + suffix;
}

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_golden(const std::string& directory) {
  Capture sample = testing::sample_capture();
  std::ofstream(golden_path(directory, format::kVersion, ".bin"), std::ios::binary) << encode(sample);
  std::ofstream(golden_path(directory, format::kVersion, ".txt"), std::ios::binary) << testing::describe(sample);
}

TEST(CaptureGolden, EveryVersionReads) {
  if (const char* directory = std::getenv("FATHOM_WRITE_GOLDEN")) write_golden(directory);
  for (int version = format::kOldestVersion; version <= format::kVersion; ++version) {
    Result<Capture> capture = decode(read_all(golden_path(FATHOM_TESTDATA, version, ".bin")));
    ASSERT_TRUE(capture.ok()) << version << ": " << capture.error().message;
    EXPECT_EQ(testing::describe(*capture), read_all(golden_path(FATHOM_TESTDATA, version, ".txt"))) << version;
  }
}

}  // namespace
}  // namespace fathom::capture
