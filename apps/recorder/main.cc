#include <cstdio>
#include <sys/wait.h>
#include "snapshot/record/step/record_command.h"
using namespace fathom::snapshot;
int main(int argc, char** argv) {
  auto d = SnapshotDirectory::open(argv[1]);
  step::StepRequest r;
  r.command.assign(argv + 2, argv + argc);
  r.written = [](const step::StepOutcome& o) {
    fprintf(stderr, "%s %lu insns %lu threads %lu gaps %lu bytes slow %.0f\n", o.id ? o.id->hex().c_str() : "-", o.instructions, o.threads, o.gaps, o.packet_bytes, o.slowdown);
  };
  step::FromStart t;
  auto s = step::record_command(*d, t, r);
  if (!s) { fprintf(stderr, "%s\n", s.error().message.c_str()); return 1; }
  return WEXITSTATUS(*s);
}
