// A description with something in every field, for tests of its bytes.
#pragma once

#include "snapshot/format/address_filter.h"
#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

inline Snapshot sample_snapshot() {
  Snapshot sample;
  sample.engine = Engine::kStep;
  sample.origin = Origin::kRecorded;
  sample.cpu = {true, 6, 142, 10};
  sample.timing = {3, 28, 2, 168, 1234567, 987654321, 31};
  sample.host = "node-1";
  sample.command = "shop --port 0";
  sample.taken_unix_nano = 1700000000123456789;
  sample.slowdown = 812.5;
  sample.trigger = {"overdue", 5000, 43, *Id<16>::from_bytes("0123456789abcdef"), *Id<8>::from_bytes("01234567")};
  sample.streams.push_back({.cpu = -1, .pid = 42, .tid = 43, .pieces = {}});
  sample.images.push_back({"/usr/bin/shop", "\x01\x02", ImageKind::kElf, sha256("image"), 5, ""});
  sample.images.push_back({"[vdso]", "", ImageKind::kFlat, {}, 0, "not readable"});
  Sideband map;
  map.pid = 42;
  map.address = 0x400000;
  map.length = 0x1000;
  map.file_offset = 0x1000;
  map.image = 0;
  sample.sideband.push_back(map);
  sample.sideband.push_back(address_filter_row("/usr/bin/shop", 0x1000, 0x200));
  sample.sideband.push_back(address_filter_row("", 0xffffffff81000000, 0x40, true));
  Sideband poke;
  poke.kind = SidebandKind::kTextPoke;
  poke.tsc = 6000;
  poke.flags = kFlagKernel;
  poke.text = "new";
  poke.other_text = "old";
  sample.sideband.push_back(poke);
  Sideband fork;
  fork.kind = SidebandKind::kFork;
  fork.tsc = 7000;
  fork.cpu = 1;
  fork.pid = fork.tid = 50;
  fork.other_pid = fork.other_tid = 42;
  sample.sideband.push_back(fork);
  sample.losses.push_back({"ring overwritten", 3});
  return sample;
}

}  // namespace fathom::snapshot
