#include <gtest/gtest.h>

#include "cli/testing/fake_context.h"
#include "cli/testing/scratch.h"

namespace fathom::cli {
namespace {

// A worker that says which words it was started with; its answers go to a file, because standard output is the test's.
class SnapshotCommands : public testing::Test {
 protected:
  SnapshotCommands() {
    world_.executable = scratch_.path() + "/fathom";
    world_.environment["HOME"] = "/home/someone";
    worker("echo \"$@\"\n");
  }
  void worker(const std::string& body) { scratch_.script("fathom-worker", body); }
  ExitCode run(std::vector<std::string> words) {
    words.insert(words.begin(), "snapshot");
    return world_.run(words);
  }
  // The words behind --columns 0, when the answer goes to a file.
  std::string words_of(std::vector<std::string> words, const std::string& name = "out") {
    const std::string file = scratch_.path() + "/" + name;
    words.insert(words.end(), {"-o", file});
    EXPECT_EQ(run(words), ExitCode::kOk) << world_.err;
    return read_file(file);
  }

  Scratch scratch_;
  FakeWorld world_;
};

TEST_F(SnapshotCommands, QuestionsAreVerbsOfTheWorker) {
  EXPECT_EQ(
      words_of({"calls", "last"}),
      "--directory /home/someone/.local/share/fathom/snapshots --columns 0 --host-code --format table -- calls last\n");
  EXPECT_EQ(words_of({"diff", "a", "b", "--tid", "7", "--no-cache"}),
            "--directory /home/someone/.local/share/fathom/snapshots --columns 0 --host-code --tid=7 --format table "
            "--no-cache -- diff "
            "a b\n");
  EXPECT_EQ(words_of({"delta", "last", "--from", "-x", "--to=y"}),
            "--directory /home/someone/.local/share/fathom/snapshots --columns 0 --host-code --from=-x --to=y --format "
            "table -- delta "
            "last\n");
}

TEST_F(SnapshotCommands, AnUnconfinedWorkerIsAskedForByFlag) {
  EXPECT_EQ(words_of({"calls", "last"}).find("--unsafe-worker"), std::string::npos);
  EXPECT_NE(words_of({"calls", "last", "--unsafe-worker"}).find(" --unsafe-worker "), std::string::npos);
}

TEST_F(SnapshotCommands, TheFilesNameSaysTheFormat) {
  EXPECT_NE(words_of({"calls", "last"}, "a.svg").find("--format svg"), std::string::npos);
  EXPECT_NE(words_of({"calls", "last"}, "a.json").find("--format json"), std::string::npos);
  EXPECT_NE(words_of({"calls", "last", "--format", "table"}, "a.svg").find("--format table"), std::string::npos);
}

TEST_F(SnapshotCommands, ANameThatPromisesSomethingElseIsTold) {
  words_of({"calls", "last"}, "a.txt");
  words_of({"calls", "last"}, "a.svg");
  words_of({"calls", "last", "--format", "json"}, "a.png");
  EXPECT_EQ(world_.err, "");
  words_of({"calls", "last"}, "a.png");
  EXPECT_EQ(world_.err, "wrote a table to " + scratch_.path() +
                            "/a.png; a name that ends in .svg or .json, or --format, makes it a picture or JSON\n");
}

TEST_F(SnapshotCommands, AFileThatCouldNotBeWrittenIsNamed) {
  worker("echo 'fathom: cannot write the answer' >&2; exit 5\n");
  EXPECT_EQ(run({"calls", "last", "-o", scratch_.path() + "/full"}), ExitCode::kLocalFailure);
  EXPECT_EQ(world_.err, "fathom: cannot write to " + scratch_.path() + "/full, or not all\n");
}

TEST_F(SnapshotCommands, WhereSnapshotsLie) {
  world_.environment["XDG_DATA_HOME"] = "/data";
  EXPECT_TRUE(words_of({"calls", "last"}).starts_with("--directory /data/fathom/snapshots "));
  world_.environment["FATHOM_SNAPSHOTS"] = "/snaps";
  EXPECT_TRUE(words_of({"calls", "last"}).starts_with("--directory /snaps "));
  EXPECT_TRUE(words_of({"calls", "last", "--directory", "/d"}).starts_with("--directory /d "));
  world_.environment.clear();
  EXPECT_EQ(run({"list"}), ExitCode::kUsage);
  EXPECT_NE(world_.err.find("--directory DIR"), std::string::npos);
}

TEST_F(SnapshotCommands, ExportsGoToTheirFile) {
  const std::string file = scratch_.path() + "/profile";
  EXPECT_EQ(run({"export", "last", "--pprof", file}), ExitCode::kOk);
  EXPECT_NE(read_file(file).find("-- pprof last\n"), std::string::npos);
  EXPECT_EQ(world_.err, "wrote " + file + "; go tool pprof -http : " + file + "\n");
  EXPECT_EQ(run({"export", "last"}), ExitCode::kUsage);
  EXPECT_EQ(run({"export", "last", "--pprof", file, "--perfetto", file}), ExitCode::kUsage);
  EXPECT_NE(world_.err.find("a file each"), std::string::npos) << world_.err;
  const std::string other = scratch_.path() + "/timeline";
  EXPECT_EQ(run({"export", "last", "--pprof", file, "--perfetto", other}), ExitCode::kOk);
  EXPECT_NE(read_file(file).find("-- pprof last\n"), std::string::npos);
  EXPECT_NE(read_file(other).find("-- perfetto last\n"), std::string::npos);
}

TEST_F(SnapshotCommands, TheWorkersExitCodeIsOurs) {
  worker("exit 1\n");
  EXPECT_EQ(run({"calls", "last"}), ExitCode::kNothingFound);
  EXPECT_EQ(run({"import", "perf.data"}), ExitCode::kNothingFound);
  EXPECT_EQ(world_.err.find("next:"), std::string::npos);
  worker("kill -9 $$\n");
  EXPECT_EQ(run({"calls", "last"}), ExitCode::kLocalFailure);
  EXPECT_NE(world_.err.find("signal 9"), std::string::npos);
  EXPECT_NE(world_.err.find("--memory-mib"), std::string::npos);
}

TEST_F(SnapshotCommands, AfterAnImportTheNextStepIsSaid) {
  worker("exit 0\n");
  EXPECT_EQ(run({"import", "--pt", "x", "--image", "a", "--image", "b@1"}), ExitCode::kOk);
  EXPECT_EQ(world_.err, "next: fathom snapshot calls last\n");
  EXPECT_EQ(run({"import", "x", "--directory", "/it's mine"}), ExitCode::kOk);
  EXPECT_TRUE(world_.err.ends_with("next: fathom snapshot calls last --directory '/it'\\''s mine'\n")) << world_.err;
  EXPECT_EQ(run({"import"}), ExitCode::kUsage);
}

TEST_F(SnapshotCommands, AMissingWorkerIsNamed) {
  world_.executable = "/nowhere/fathom";
  EXPECT_EQ(run({"list"}), ExitCode::kLocalFailure);
  EXPECT_NE(world_.err.find("fathom-worker is missing"), std::string::npos);
}

TEST_F(SnapshotCommands, HelpOfTheGroupAndOfItsParts) {
  EXPECT_EQ(run({"--help"}), ExitCode::kOk);
  const std::string group = world_.out;
  for (const char* name : {"import", "list", "calls", "functions", "insns", "delta", "syscalls", "sunburst", "diff",
                           "stats", "export", "remove"}) {
    EXPECT_NE(group.find(std::string("\n  ") + name), std::string::npos) << name;
    world_.out.clear();
    EXPECT_EQ(run({name, "--help"}), ExitCode::kOk);
    EXPECT_TRUE(world_.out.starts_with(std::string("fathom snapshot ") + name + ": ")) << world_.out;
    EXPECT_NE(world_.out.find("examples:\n"), std::string::npos) << name;
  }
  FakeWorld word;
  EXPECT_EQ(word.run({"help", "snapshot"}), ExitCode::kOk);
  EXPECT_EQ(word.out, group);
  EXPECT_EQ(run({}), ExitCode::kUsage);
  EXPECT_EQ(run({"cals"}), ExitCode::kUsage);
  EXPECT_NE(world_.err.find("unknown command 'cals' (did you mean calls?); see fathom snapshot --help"),
            std::string::npos);
}

}  // namespace
}  // namespace fathom::cli
