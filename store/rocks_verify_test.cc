// verify_store(): intact directories have no findings, each kind of damage has one, and nothing in a directory changes.
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "store/testing/damage.h"
#include "store/testing/populated_store.h"
#include "store/verify/verify.h"

namespace fathom::store::testing {
namespace {

namespace fs = std::filesystem;

std::string damages_text(const Findings& findings) {
  std::string text;
  for (const Damage& damage : findings.damages())
    text += damage.part + ": " + damage.place + ": " + damage.reason + "\n";
  return text;
}

uint64_t checked_of(const Findings& findings, const std::string& part) {
  const auto found = std::ranges::find(findings.parts(), part, &PartCount::part);
  return found == findings.parts().end() ? 0 : found->checked;
}

class RocksVerify : public ::testing::Test {
 public:
  void SetUp() override { copy_populated(rig_, /*seed=*/1); }

  // Of the store, by a part of their names.
  std::vector<std::string> files(const std::string& part) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(rig_.path() + "/store")) {
      if (entry.path().filename().string().find(part) != std::string::npos) found.push_back(entry.path());
    }
    std::ranges::sort(found);
    return found;
  }
  std::string newest_log() const { return files(".log").back(); }
  std::string largest_table() const {
    return std::ranges::max(files(".sst"), {}, [](const std::string& path) { return fs::file_size(path); });
  }
  // The largest table of a family; tables say whose they are.
  std::string table_of(const std::string& family) const {
    std::string largest;
    for (const std::string& path : files(".sst")) {
      const bool is_of = read_file(path).find("name" + family) != std::string::npos;
      if (is_of && (largest.empty() || fs::file_size(path) > fs::file_size(largest))) largest = path;
    }
    return largest;
  }
  std::string content() const {
    for (const auto& entry : fs::recursive_directory_iterator(rig_.path() + "/captures")) {
      if (entry.is_regular_file()) return entry.path();
    }
    return "";
  }
  // A write of the disk that went to a wrong place: the middle of one table is in another.
  void misdirect() const {
    const std::string from = read_file(table_of("slow")), path = table_of("block");
    std::string bytes = read_file(path);
    const size_t at = bytes.size() / 4, size = bytes.size() / 2;
    write_file(path, bytes.replace(at, size, from.substr(0, size)));
  }
  // The record's length then reaches beyond the end of the file.
  void flip_last_manifest_length() const {
    const std::string path = files("MANIFEST").front();
    const std::string bytes = read_file(path);
    uint64_t last = 0;
    for (uint64_t at = 0; at + 7 <= bytes.size();) {
      last = at;
      at += 7 + static_cast<uint8_t>(bytes[at + 4]) + 256U * static_cast<uint8_t>(bytes[at + 5]);
    }
    flip_bit(path, 8 * (last + 5) + 6);
  }

  RocksRig rig_{populated_options()};
};

TEST_F(RocksVerify, AnIntactDirectoryHasNoFindings) {
  Findings findings;
  ASSERT_TRUE(verify_store(rig_.path(), findings).ok());
  EXPECT_EQ(damages_text(findings), "");
  EXPECT_TRUE(findings.intact());
  for (const char* part :
       {"version", "manifest", "logs", "sorted files", "records", "identities", "operations", "stage", "segments",
        "blocks", "trace index", "retention notes", "slow lists", "latency cells", "captures", "capture contents"}) {
    EXPECT_GT(checked_of(findings, part), 0u) << part;
  }
}

TEST(RocksVerifySeeds, IntactDirectoriesHaveNoFindings) {
  for (uint64_t seed = 2; seed < 2 + seeds(6); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RocksRig rig(populated_options());
    ASSERT_EQ(rig.open(), "");
    populate(rig, seed, seed % 2 == 0);
    Findings findings;
    ASSERT_TRUE(verify_store(rig.path(), findings).ok());
    EXPECT_EQ(damages_text(findings), "");
  }
}

TEST_F(RocksVerify, ChangesNothing) {
  const std::string before = tree_text(rig_.path());
  Findings findings;
  ASSERT_TRUE(verify_store(rig_.path(), findings).ok());
  EXPECT_EQ(tree_text(rig_.path()), before);
}

TEST_F(RocksVerify, ChangesNothingInADamagedDirectory) {
  flip_bit(newest_log(), fs::file_size(newest_log()) * 8 / 3);
  flip_bit(files(".sst").front(), 80);
  const std::string before = tree_text(rig_.path());
  Findings findings;
  ASSERT_TRUE(verify_store(rig_.path(), findings).ok());
  EXPECT_FALSE(findings.intact());
  EXPECT_EQ(tree_text(rig_.path()), before);
}

// The child holds the store open until the pipe is closed.
TEST_F(RocksVerify, RejectsALiveDirectory) {
  int ready[2], release[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(release), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(release[1]);
    // A flush would wait for RocksDB's threads, which the child does not have.
    rig_.options().durability = Durability::kOs;
    char byte = rig_.open().empty() ? 'y' : 'n';
    (void)!::write(ready[1], &byte, 1);
    (void)!::read(release[0], &byte, 1);
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  Findings findings;
  const Result<> verified = verify_store(rig_.path(), findings);
  ::close(release[1]);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  for (const int end : {ready[0], ready[1], release[0]}) ::close(end);
  ASSERT_FALSE(verified.ok());
  EXPECT_EQ(verified.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(verified.error().message.find("in use by process " + std::to_string(child)), std::string::npos)
      << verified.error().message;
}

TEST(RocksVerifyPlaces, RejectsADirectoryWithoutAStore) {
  TempDirectory empty;
  Findings findings;
  const Result<> verified = verify_store(empty.path(), findings);
  ASSERT_FALSE(verified.ok());
  EXPECT_EQ(verified.error().code, ErrorCode::kInvalid);
}

// Older formats have filters and lists of other shapes.
TEST(RocksVerifyVersions, DirectoriesOfAllVersionsAreIntact) {
  for (const char* version : {"v1", "v2", "v3", "v4", "v5", "v6", "v7"}) {
    SCOPED_TRACE(version);
    TempDirectory directory;
    fs::copy(std::string(FATHOM_TESTDATA "/data-") + version, directory / "data", fs::copy_options::recursive);
    const std::string before = tree_text(directory / "data");
    Findings findings;
    ASSERT_TRUE(verify_store(directory / "data", findings).ok());
    EXPECT_EQ(damages_text(findings), "");
    EXPECT_GT(checked_of(findings, "blocks"), 0u);
    EXPECT_EQ(tree_text(directory / "data"), before);
  }
}

TEST_F(RocksVerify, NoticesDamagedWitnesses) {
  for (const char* name : {"manifest-size", "synced-logs"}) {
    const std::string path = rig_.path() + "/store/" + name, bytes = read_file(path);
    for (const std::string& damaged : {std::string(), std::string(bytes.size(), '\0'), bytes.substr(1), bytes + "x"}) {
      write_file(path, damaged);
      Findings findings;
      ASSERT_TRUE(verify_store(rig_.path(), findings).ok());
      EXPECT_NE(damages_text(findings).find("manifest: " + path), std::string::npos) << damages_text(findings);
    }
    write_file(path, bytes);
  }
}

// docs/durability.md and the help text list what no other file names.
TEST_F(RocksVerify, DoesNotNoticeWhatItsHelpLists) {
  fs::remove(rig_.path() + "/store/manifest-size");
  fs::create_directories(rig_.path() + "/damaged");
  write_file(rig_.path() + "/damaged/000001.log", "no records");
  Findings findings;
  ASSERT_TRUE(verify_store(rig_.path(), findings).ok());
  EXPECT_EQ(damages_text(findings), "");
}

TEST_F(RocksVerify, DoesNotAdviseToRepairANewerFormat) {
  write_file(rig_.path() + "/version", "8\n");
  Findings findings;
  ASSERT_TRUE(verify_store(rig_.path(), findings).ok());
  EXPECT_EQ(findings.damage_count(), 1u) << damages_text(findings);
  EXPECT_NE(findings.fix().find("use the fathom that wrote it"), std::string::npos) << findings.fix();
  EXPECT_EQ(findings.fix().find("repair"), std::string::npos) << findings.fix();
}

struct Case {
  const char* name;
  const char* part;  // that must be damaged
  std::function<void(RocksVerify&)> damage;
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

class RocksVerifyDamage : public RocksVerify, public ::testing::WithParamInterface<Case> {};

TEST_P(RocksVerifyDamage, IsFound) {
  GetParam().damage(*this);
  Findings findings;
  ASSERT_TRUE(verify_store(rig_.path(), findings).ok());
  EXPECT_FALSE(findings.intact());
  const auto& damages = findings.damages();
  EXPECT_NE(std::ranges::find(damages, GetParam().part, &Damage::part), damages.end()) << damages_text(findings);
}

void flip_at(const std::string& path, double part) {
  flip_bit(path, static_cast<uint64_t>(static_cast<double>(fs::file_size(path) * 8) * part));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, RocksVerifyDamage,
    ::testing::Values(
        Case{"FirstBlockOfAFile", "sorted files", [](RocksVerify& test) { flip_bit(test.largest_table(), 100); }},
        Case{"MiddleOfAFile", "sorted files", [](RocksVerify& test) { flip_at(test.largest_table(), 0.5); }},
        Case{"IndexOfAFile", "sorted files", [](RocksVerify& test) { flip_at(test.largest_table(), 0.97); }},
        Case{"FooterOfAFile", "sorted files",
             [](RocksVerify& test) { flip_bit(test.largest_table(), fs::file_size(test.largest_table()) * 8 - 9); }},
        Case{"BlocksOfARow", "blocks", [](RocksVerify& test) { flip_bit(test.table_of("block"), 4000); }},
        Case{"TraceIndex", "trace index", [](RocksVerify& test) { flip_at(test.table_of("trace"), 0.1); }},
        Case{"SlowLists", "slow lists", [](RocksVerify& test) { flip_at(test.table_of("slow"), 0.1); }},
        Case{"LatencyCells", "latency cells", [](RocksVerify& test) { flip_at(test.table_of("latency"), 0.1); }},
        Case{"SegmentRecords", "segments", [](RocksVerify& test) { flip_at(test.table_of("segment"), 0.02); }},
        Case{"MissingFile", "sorted files", [](RocksVerify& test) { fs::remove(test.largest_table()); }},
        Case{"ShortFile", "sorted files",
             [](RocksVerify& test) { fs::resize_file(test.largest_table(), fs::file_size(test.largest_table()) - 1); }},
        Case{"MisdirectedWrite", "segments", [](RocksVerify& test) { test.misdirect(); }},
        Case{"SwappedTables", "segments",
             [](RocksVerify& test) { swap_contents(test.table_of("block"), test.table_of("slow")); }},
        Case{"Manifest", "manifest", [](RocksVerify& test) { flip_at(test.files("MANIFEST").front(), 0.3); }},
        Case{"ManifestLength", "manifest", [](RocksVerify& test) { test.flip_last_manifest_length(); }},
        Case{"MissingManifest", "manifest", [](RocksVerify& test) { fs::remove(test.files("MANIFEST").front()); }},
        Case{"Current", "manifest",
             [](RocksVerify& test) { flip_bit(test.rig_.path() + "/store/CURRENT", 8 * 14 + 1); }},
        Case{"MissingCurrent", "manifest", [](RocksVerify& test) { fs::remove(test.rig_.path() + "/store/CURRENT"); }},
        Case{"Log", "logs", [](RocksVerify& test) { flip_at(test.newest_log(), 0.4); }},
        Case{"LogHeader", "logs", [](RocksVerify& test) { flip_bit(test.newest_log(), 8 * 4); }},
        Case{"Version", "version", [](RocksVerify& test) { write_file(test.rig_.path() + "/version", "99\n"); }},
        Case{"VersionText", "version", [](RocksVerify& test) { flip_bit(test.rig_.path() + "/version", 6); }},
        Case{"MissingVersion", "version", [](RocksVerify& test) { fs::remove(test.rig_.path() + "/version"); }},
        Case{"Content", "capture contents", [](RocksVerify& test) { flip_at(test.content(), 0.5); }},
        Case{"MissingContent", "capture contents", [](RocksVerify& test) { fs::remove(test.content()); }},
        Case{"ShortContent", "capture contents", [](RocksVerify& test) { fs::resize_file(test.content(), 10); }}),
    [](const ::testing::TestParamInfo<Case>& info) { return info.param.name; });

}  // namespace
}  // namespace fathom::store::testing
