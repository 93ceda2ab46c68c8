#include "snapshot/format/unkept_images.h"

#include <gtest/gtest.h>

namespace fathom::snapshot {
namespace {

Image image(bool kept, const std::string& missing = "") {
  Image one;
  if (kept) one.content.bytes[0] = 1;
  one.missing = missing;
  return one;
}

TEST(UnkeptImages, AreCountedWithTheReasonOfTheFirst) {
  Snapshot snapshot;
  snapshot.images = {image(true), image(false, "cannot copy /bin/a: b: No space left on device"), image(false, "x")};
  const UnkeptImages found = unkept_images(snapshot);
  EXPECT_EQ(found.images, 3u);
  EXPECT_EQ(found.unkept, 2u);
  EXPECT_EQ(unkept_images_text(found),
            "2 of 3 images are not kept: No space left on device; what runs in them will be gaps");
}

TEST(UnkeptImages, NobodyReadsPathsOfOurs) {
  EXPECT_EQ(why_not_kept(internal("cannot copy /proc/self/fd/11: No space left on device")),
            "cannot copy it: No space left on device");
}

TEST(UnkeptImages, OneIsOne) {
  Snapshot snapshot;
  snapshot.images = {image(false, "it is gone")};
  EXPECT_EQ(unkept_images_text(unkept_images(snapshot)),
            "1 of 1 image is not kept: it is gone; what runs in it will be gaps");
  snapshot.images = {image(true)};
  EXPECT_EQ(unkept_images(snapshot).unkept, 0u);
}

}  // namespace
}  // namespace fathom::snapshot
