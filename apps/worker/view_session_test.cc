#include "apps/worker/view_session.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/testing/temp_directory.h"
#include "base/whole_io.h"
#include "snapshot/format/snapshot_file.h"

namespace fathom {
namespace {

using snapshot::SnapshotDirectory;

class ViewSessionTest : public testing::Test {
 protected:
  void SetUp() override {
    auto directory = SnapshotDirectory::open(path_ + "/snapshots");
    ASSERT_TRUE(directory.ok());
    directory_.emplace(*std::move(directory));
  }
  // With packets that are none of a processor's.
  snapshot::SnapshotId damaged() {
    auto draft = directory_->draft();
    auto writer = snapshot::SnapshotWriter::begin(Fd(::open(draft->c_str(), O_WRONLY | O_CLOEXEC)));
    const std::string noise(5000, '\x5a');
    EXPECT_TRUE(writer->packets(0, 0, {reinterpret_cast<const uint8_t*>(noise.data()), noise.size()}).ok());
    snapshot::Snapshot description;
    description.streams.push_back({.cpu = -1, .pid = 1, .tid = 1, .pieces = {}});
    auto id = writer->finish(description);
    EXPECT_TRUE(id.ok() && directory_->publish(*draft, *id).ok());
    return *id;
  }
  Result<> serve(const snapshot::SnapshotId& id, std::vector<std::string> asks) {
    size_t next = 0;
    return serve_view(*directory_, id,
                      {[&]() -> std::optional<std::string> {
                         if (next == asks.size()) return std::nullopt;
                         return asks[next++];
                       },
                       [&](std::string_view answer) {
                         answers_.emplace_back(answer);
                         return true;
                       }});
  }

  TempDirectory scratch_;
  const std::string path_ = scratch_.path();
  std::optional<SnapshotDirectory> directory_;
  std::vector<std::string> answers_;
};

TEST_F(ViewSessionTest, EveryAskHasOneAnswerAndItsLength) {
  ASSERT_TRUE(serve(damaged(), {"threads", "sing", "insns thread=9", ""}).ok());
  ASSERT_EQ(answers_.size(), 4u);
  const std::vector<std::string> begins{"ok ", "invalid ", "not_found ", "invalid "};
  for (size_t i = 0; i < begins.size(); ++i) {
    const std::string& answer = answers_[i];
    EXPECT_TRUE(answer.starts_with(begins[i])) << answer;
    const size_t line = answer.find('\n');
    ASSERT_NE(line, std::string::npos);
    EXPECT_EQ(std::stoul(answer.substr(begins[i].size())), answer.size() - line - 1);
  }
  EXPECT_NE(answers_[0].find("\"instructions\":0"), std::string::npos) << answers_[0];
}

TEST_F(ViewSessionTest, ASnapshotThatIsNotThereIsSaid) {
  auto missing = serve(*snapshot::SnapshotId::from_hex_text(std::string(32, '1')), {"threads"});
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(answers_.empty());
}

TEST(LineReader, GivesLinesHoweverTheyCome) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe.ok());
  std::thread writer([&] {
    for (const char* piece : {"one\ntw", "o\n", "\nlast\nhalf"})
      EXPECT_TRUE(write_whole(pipe->write.get(), piece, "").ok());
    pipe->write.close();
  });
  LineReader lines(pipe->read.get());
  for (const char* line : {"one", "two", "", "last"}) EXPECT_EQ(lines.next(), line);
  EXPECT_EQ(lines.next(), std::nullopt) << "half a line is none";
  writer.join();
}

TEST(LineReader, ALineWithoutAnEndIsGivenUp) {
  Fd zeros(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(LineReader(zeros.get()).next(), std::nullopt);
}

}  // namespace
}  // namespace fathom
