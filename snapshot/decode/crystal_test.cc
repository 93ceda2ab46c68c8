#include "snapshot/decode/crystal.h"

#include <gtest/gtest.h>

namespace fathom::snapshot {
namespace {

Timing nominal(uint8_t ratio) {
  Timing timing;
  timing.nom_freq = ratio;
  return timing;
}

TEST(Crystal, RatioIsThatOfTheModel) {
  const Timing skylake = with_crystal_ratio(nominal(37), {true, 6, 0x5e, 3});
  EXPECT_EQ(skylake.cpuid_0x15_eax, 2u);
  EXPECT_EQ(skylake.cpuid_0x15_ebx, 308u);
  const Timing denverton = with_crystal_ratio(nominal(22), {true, 6, 0x5f, 1});
  EXPECT_EQ(denverton.cpuid_0x15_ebx, 176u);
}

TEST(Crystal, WhatIsSaidOrNotKnownStays) {
  Timing said = nominal(37);
  said.cpuid_0x15_eax = 3;
  said.cpuid_0x15_ebx = 400;
  EXPECT_EQ(with_crystal_ratio(said, {true, 6, 0x5e, 3}), said);
  EXPECT_EQ(with_crystal_ratio(nominal(0), {true, 6, 0x5e, 3}), nominal(0));
  EXPECT_EQ(with_crystal_ratio(nominal(37), {true, 6, 79, 1}), nominal(37));
  EXPECT_EQ(with_crystal_ratio(nominal(37), {}), nominal(37));
  EXPECT_EQ(with_crystal_ratio(nominal(37), {true, 6, 0x55, 4}), nominal(37)) << "24 or 25 MHz";
}

}  // namespace
}  // namespace fathom::snapshot
