#include "snapshot/record/step/recording.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/testing/temp_directory.h"
#include "snapshot/format/directory.h"
#include "snapshot/record/image_rule.h"
#include "snapshot/record/step/proc_maps.h"

namespace fathom::snapshot::step {
namespace {

TEST(Recording, FilesThatNotEverybodyMayReadAreCopiedIfAsked) {
  const TempDirectory scratch;
  const std::string program = scratch.path() + "/program";
  std::ofstream(program) << "the code";
  ASSERT_EQ(::chmod(program.c_str(), 0700), 0);
  struct stat about {};
  ASSERT_EQ(::stat(program.c_str(), &about), 0);
  const auto directory = SnapshotDirectory::open(scratch.path() + "/snapshots");
  ASSERT_TRUE(directory.ok());
  for (const bool private_images : {false, true}) {
    auto recording = Recording::begin(*directory, private_images);
    ASSERT_TRUE(recording.ok());
    MappedFile map;
    map.inode = about.st_ino;
    map.path = program;
    ASSERT_TRUE((*recording)->image_of(::getpid(), map));
    const uint32_t vdso = (*recording)->add_flat_image("[vdso]", "code of the kernel");
    ASSERT_TRUE((*recording)->finish().ok());
    const auto& images = (*recording)->snapshot().images;
    EXPECT_EQ(images[0].missing, private_images ? "" : kPrivateImage);
    EXPECT_EQ(directory->has_image(sha256("the code")), private_images);
    EXPECT_EQ(images[vdso].missing, "");
  }
}

}  // namespace
}  // namespace fathom::snapshot::step
