// Reading of rings against a model that remembers all that was ever written.
#include "snapshot/record/pt/ring_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "snapshot/record/pt/aux_area.h"
#include "snapshot/record/pt/cpu_ring.h"
#include "snapshot/record/testing/pt_packets.h"
#include "snapshot/record/testing/scripted_perf.h"

namespace fathom::snapshot {
namespace {

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string content(const RingView& view) {
  std::string out(view.size(), '\0');
  EXPECT_EQ(view.copy(0, {reinterpret_cast<uint8_t*>(out.data()), out.size()}), view.size());
  return out;
}

TEST(RingView, FindsAPsbWhereverTheSeamIs) {
  const std::string bytes = std::string(37, 'x') + psb_header(1234) + std::string(29, 'y');
  for (size_t seam = 0; seam <= bytes.size(); ++seam) {
    const RingView view(bytes_of(bytes).first(seam), bytes_of(bytes).subspan(seam));
    ASSERT_EQ(view.psb_before(view.size()), 37u) << seam;
    ASSERT_EQ(view.tsc_of_psb(37), 1234u) << seam;
    ASSERT_EQ(view.psb_before(37 + kPsbBytes), 37u) << seam;
    ASSERT_FALSE(view.psb_before(37 + kPsbBytes - 1).has_value()) << seam;
    ASSERT_EQ(content(view), bytes);
  }
}

TEST(RingView, FindsTheLastOfMany) {
  const std::string bytes = psb_header(1) + psb_header(2) + psb_packet();
  const size_t one = psb_header(1).size();
  const RingView view({}, bytes_of(bytes));
  EXPECT_EQ(view.psb_before(view.size()), 2 * one);
  EXPECT_EQ(view.psb_before(2 * one), one);
  EXPECT_EQ(view.psb_before(one), 0u);
  EXPECT_FALSE(view.tsc_of_psb(2 * one).has_value());
}

TEST(RingView, HalfAPsbIsNone) {
  const std::string bytes = psb_packet().substr(2) + std::string(8, 'x') + psb_packet().substr(0, 15);
  EXPECT_FALSE(RingView({}, bytes_of(bytes)).psb_before(bytes.size()).has_value());
}

TEST(WindowCut, BeginsAtTheLastPsbBeforeTheWindow) {
  const std::string bytes = psb_header(100) + std::string(50, 'x') + psb_header(200) + std::string(50, 'x') +
                            psb_header(300) + std::string(50, 'x');
  const size_t part = psb_header(1).size() + 50;
  const RingView view({}, bytes_of(bytes));
  EXPECT_EQ(cut_window(view, 250, bytes.size()).begin, part);
  EXPECT_EQ(cut_window(view, 200, bytes.size()).begin, part);
  EXPECT_EQ(cut_window(view, 199, bytes.size()).begin, 0u);
  EXPECT_TRUE(cut_window(view, 100, bytes.size()).reaches_back);
  EXPECT_FALSE(cut_window(view, 99, bytes.size()).reaches_back);
  EXPECT_EQ(cut_window(view, UINT64_MAX, bytes.size()).begin, 2 * part);
  EXPECT_EQ(cut_window(view, UINT64_MAX, bytes.size()).first_tsc, 300u);
  // A limit keeps the newest.
  const WindowCut limited = cut_window(view, 0, part + 10);
  EXPECT_EQ(limited.begin, 2 * part);
  EXPECT_FALSE(limited.reaches_back);
  EXPECT_EQ(cut_window(view, 0, 3).begin, bytes.size());
}

TEST(WindowCut, WithoutAPsbThereIsNothing) {
  const std::string bytes(500, 'x');
  const WindowCut cut = cut_window(RingView({}, bytes_of(bytes)), 0, 500);
  EXPECT_EQ(cut.begin, 500u);
  EXPECT_FALSE(cut.reaches_back);
}

TEST(WindowCut, RandomBytesAreHarmless) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    while (bytes.size() < 200) {
      const uint32_t choice = random() % 6;
      if (choice == 0) bytes += psb_packet();
      if (choice == 1) bytes += psb_header(random()).substr(0, random() % 40);
      if (choice >= 2) bytes.push_back(static_cast<char>(choice == 2 ? 0x02 : choice == 3 ? 0x82 : random()));
    }
    const size_t seam = random() % (bytes.size() + 1);
    const RingView view(bytes_of(bytes).first(seam), bytes_of(bytes).subspan(seam));
    // Against the obvious search.
    const size_t end = random() % (bytes.size() + 1);
    const size_t expected = end < 16 ? std::string::npos : bytes.rfind(psb_packet(), end - 16);
    const auto found = view.psb_before(end);
    ASSERT_EQ(found.value_or(std::string::npos), expected) << "round " << round;
    ASSERT_LE(cut_window(view, random(), random() % 300).begin, bytes.size());
  }
}

class AuxModelTest : public testing::Test {
 protected:
  static constexpr uint64_t kAuxBytes = 16 << 10;

  void open() {
    PtOptions options;
    options.aux_bytes = kAuxBytes;
    const PtPmu pmu = *read_pt_pmu(system_);
    const CpuRingOptions ring{pt_attributes(pmu, *make_pt_config(pmu, options), options),
                              sideband_attributes(options),
                              "",
                              kAuxBytes,
                              8192,
                              4096};
    int error = 0;
    auto opened = CpuRing::open(system_, 0, {-1}, ring, error);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    ring_.emplace(*std::move(opened));
  }
  void write(const std::string& bytes) {
    system_.write_packets(0, bytes);
    written_ += bytes;
  }
  // What must be there: all that was written, as far as it fits.
  std::string expected() const { return written_.substr(written_.size() - std::min(written_.size(), kAuxBytes)); }
  RingView stopped() {
    EXPECT_EQ(ring_->disable(), 0);
    return ring_->stopped();
  }

  ScriptedPerf system_;
  std::optional<CpuRing> ring_;
  std::string written_;
};

TEST_F(AuxModelTest, AnEmptyOneIsEmptyAndAFullOneIsFull) {
  open();
  ASSERT_TRUE(ring_->enable().ok());
  EXPECT_EQ(stopped().size(), 0u);
  ASSERT_TRUE(ring_->enable().ok());
  write(psb_header(1) + std::string(kAuxBytes - psb_header(1).size(), 'x'));
  // The kernel says 0, as it did when it was empty.
  EXPECT_EQ(content(stopped()), written_);
  // And so it stays when nothing comes.
  ASSERT_TRUE(ring_->enable().ok());
  EXPECT_EQ(content(stopped()), written_);
}

TEST_F(AuxModelTest, HoldsTheNewestOfWhatWasWritten) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    ring_.reset();
    written_.clear();
    open();
    uint64_t tsc = 1000;
    for (int stop = 0; stop < 12; ++stop) {
      ASSERT_TRUE(ring_->enable().ok());
      for (uint32_t part = random() % 12; part > 0; --part) {
        write(psb_header(tsc += 1 + random() % 50));
        write(std::string(random() % 3000, static_cast<char>('a' + random() % 20)));
      }
      const RingView view = stopped();
      ASSERT_EQ(content(view), expected()) << "seed " << seed << " stop " << stop;
      // The window that is cut is the one that the model would cut.
      const uint64_t begin = 1000 + random() % (tsc - 999);
      const WindowCut cut = cut_window(view, begin, kAuxBytes);
      const std::string all = expected();
      size_t at = std::string::npos;
      size_t oldest = all.size();
      for (size_t psb = all.find(psb_packet()); psb != std::string::npos; psb = all.find(psb_packet(), psb + 1)) {
        if (oldest == all.size()) oldest = psb;
        const auto time = view.tsc_of_psb(psb);
        if (time && *time <= begin) at = psb;
      }
      ASSERT_EQ(cut.reaches_back, at != std::string::npos) << "seed " << seed << " stop " << stop;
      ASSERT_EQ(cut.begin, at != std::string::npos ? at : oldest);
    }
  }
}

}  // namespace
}  // namespace fathom::snapshot
