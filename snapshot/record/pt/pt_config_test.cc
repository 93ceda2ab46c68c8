#include "snapshot/record/pt/pt_config.h"

#include <gtest/gtest.h>

#include <random>

#include "snapshot/record/testing/scripted_perf.h"

namespace fathom::snapshot {
namespace {

class PtConfigTest : public testing::Test {
 protected:
  PtPmu pmu() const { return *read_pt_pmu(system_); }
  uint64_t bits(const PtOptions& options) const { return make_pt_config(pmu(), options)->bits.words[0]; }
  std::string refusal(const PtOptions& options) const {
    auto made = make_pt_config(pmu(), options);
    return made ? "" : made.error().message;
  }

  ScriptedPerf system_;
};

constexpr uint64_t bit(int number) {
  return uint64_t{1} << number;
}

TEST(PmuField, BitsAndRanges) {
  EXPECT_EQ(parse_pmu_field("config:10")->bits, std::vector<uint8_t>{10});
  EXPECT_EQ(*parse_pmu_field("config1:0-2,32"), (PmuField{1, {0, 1, 2, 32}}));
  PmuConfig config;
  ASSERT_TRUE(put_field(config, *parse_pmu_field("config2:4-5,63"), 5).ok());
  EXPECT_EQ(config.words[2], bit(4) | bit(63));
  EXPECT_FALSE(put_field(config, *parse_pmu_field("config:4-5"), 4).ok());
}

TEST(PmuField, RefusesWhatIsNone) {
  for (const char* text : {"", "config", "config:", "config3:1", "config:64", "config:5-3", "config:1,,2", "config:-1",
                           "config:1-", "config:99999999999999999999", "config:0-63,0", "x:1"}) {
    EXPECT_FALSE(parse_pmu_field(text).ok()) << text;
  }
}

TEST(PmuField, AnyTextIsReadOrRefused) {
  std::mt19937 random(7);
  static constexpr char kLetters[] = "config:0123456789-,\n";
  for (int round = 0; round < 20000; ++round) {
    std::string text = random() % 2 ? "config:" : "";
    for (uint32_t i = random() % 12; i > 0; --i) text += kLetters[random() % (sizeof kLetters - 1)];
    auto field = parse_pmu_field(text);
    if (!field) continue;
    ASSERT_LE(field->bits.size(), 64u);
    for (const uint8_t one : field->bits) ASSERT_LT(one, 64);
  }
}

TEST_F(PtConfigTest, ReadsTheDevice) {
  const PtPmu read = pmu();
  EXPECT_EQ(read.type, ScriptedPerf::kPtType);
  EXPECT_EQ(read.max_nonturbo_ratio, 36);
  EXPECT_EQ(read.cpuid_0x15_ebx, 300u);
  EXPECT_EQ(read.cpuid_0x15_eax, 2u);
  EXPECT_EQ(read.cap_value("mtc_periods"), 0x249u);
  EXPECT_EQ(read_cpu(system_), (Cpu{true, 6, 158, 9}));
}

TEST_F(PtConfigTest, AHostWithoutPtIsToldSo) {
  system_.remove_file("/sys/bus/event_source/devices/intel_pt");
  auto read = read_pt_pmu(system_);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kUnsupported);
}

TEST_F(PtConfigTest, ADamagedDeviceIsRefused) {
  system_.put_file("/sys/bus/event_source/devices/intel_pt/format/tsc", "config:77\n");
  EXPECT_EQ(read_pt_pmu(system_).error().code, ErrorCode::kCorrupt);
}

TEST_F(PtConfigTest, TheUsualOnes) {
  auto config = make_pt_config(pmu(), {});
  ASSERT_TRUE(config.ok());
  // pt, mtc, tsc, branch, MTC period 3, PSB period 2.
  EXPECT_EQ(config->bits.words[0], bit(0) | bit(9) | bit(10) | bit(13) | uint64_t{3} << 14 | uint64_t{2} << 24);
  EXPECT_TRUE(config->mtc);
  EXPECT_EQ(config->mtc_period, 3);
}

TEST_F(PtConfigTest, EverySettingHasItsBits) {
  PtOptions options;
  options.mtc = false;
  options.tsc = false;
  options.psb_period = 0;
  const uint64_t least = bits(options);
  EXPECT_EQ(least, bit(0) | bit(13));
  options.cyc_thresh = 4;
  EXPECT_EQ(bits(options), least | bit(1) | uint64_t{4} << 19);
  options.cyc_thresh.reset();
  options.noretcomp = true;
  EXPECT_EQ(bits(options), least | bit(11));
  options.noretcomp = false;
  options.ptwrite = true;
  EXPECT_EQ(bits(options), least | bit(12) | bit(5));
  options.ptwrite = false;
  options.branch = false;
  EXPECT_EQ(bits(options), bit(0));
}

TEST_F(PtConfigTest, RefusalsNameWhatIsOffered) {
  PtOptions options;
  options.mtc_period = 4;
  EXPECT_EQ(refusal(options), "mtc_period 4 is not offered by this processor; it takes 0, 3, 6, 9");
  options.mtc_period.reset();
  options.psb_period = 200;
  EXPECT_EQ(refusal(options), "psb_period 200 is not offered by this processor; it takes 0, 1, 2, 3, 4, 5");
  options.psb_period.reset();
  options.power_events = true;
  EXPECT_EQ(refusal(options), "this processor's Intel PT has no power events (caps/power_event_trace is 0)");
}

TEST_F(PtConfigTest, APoorProcessorIsUsedAsItIs) {
  for (const char* cap : {"mtc", "psb_cyc", "ptwrite"})
    system_.put_file(std::string("/sys/bus/event_source/devices/intel_pt/caps/") + cap, "0\n");
  for (const char* field : {"pt", "branch"})
    system_.remove_file(std::string("/sys/bus/event_source/devices/intel_pt/format/") + field);
  EXPECT_EQ(bits({}), bit(10));
  PtOptions options;
  options.cyc = true;
  EXPECT_NE(refusal(options), "");
  options.cyc = false;
  options.mtc = true;
  EXPECT_NE(refusal(options), "");
  options.mtc.reset();
  options.branch = false;
  EXPECT_EQ(refusal(options), "this processor's Intel PT has no 'pt' in its format");
}

TEST_F(PtConfigTest, RingsAreChecked) {
  PtOptions options;
  options.aux_bytes = 5000;
  EXPECT_NE(refusal(options), "");
  options = {};
  options.user = false;
  EXPECT_NE(refusal(options), "");
}

TEST_F(PtConfigTest, Filters) {
  PtOptions options;
  EXPECT_EQ(*filter_text(pmu(), options), "");
  options.filters = {{0x1000, 0x200, "/usr/bin/shop"}, {0xffffffff81000000, 0x40, ""}};
  EXPECT_EQ(*filter_text(pmu(), options), "filter 0x1000/0x200@/usr/bin/shop,filter 0xffffffff81000000/0x40");
  options.filters.push_back({1, 1, ""});
  EXPECT_EQ(filter_text(pmu(), options).error().message, "3 address filters are wanted, this processor has 2");
  options.filters = {{0x1000, 0x200, "/a file,stop 0"}};
  EXPECT_FALSE(filter_text(pmu(), options).ok());
  options.filters = {{UINT64_MAX, 2, ""}};
  EXPECT_FALSE(filter_text(pmu(), options).ok());
}

TEST_F(PtConfigTest, EventsKeepTheClockOfPerf) {
  PtOptions options;
  options.pids = {5};
  for (const perf_event_attr& one :
       {pt_attributes(pmu(), *make_pt_config(pmu(), options), options), sideband_attributes(options)}) {
    EXPECT_EQ(one.use_clockid, 0);
    EXPECT_EQ(one.disabled, 1);
    EXPECT_EQ(one.inherit, 1);
    EXPECT_EQ(one.sample_type, kRecordLayout.sample_type);
  }
}

}  // namespace
}  // namespace fathom::snapshot
