// step_subject: what is hard to step, one subject per word on the command line.
//
//   step_subject recursion|indirect|...   runs run_subject() once; exits 0 if what it did came out right, 77 if this
//                                         machine cannot do it.
// A child that crashes, a signal that comes at any time, code that appears and goes: everything is over in some
// thousand instructions, because somebody watches each of them.
#include <cstdio>
#include <cstring>

#include "snapshot/record/programs/step_subjects.h"

namespace {

struct Subject {
  const char* name;
  bool (*run)();
};

constexpr Subject kSubjects[] = {
    {"recursion", subject_recursion},
    {"indirect", subject_indirect},
    {"branches", subject_branches},
    {"rep", subject_rep},
    {"avx512", subject_avx512},
    {"flags", subject_flags},
    {"exceptions", subject_exceptions},
    {"longjmp", subject_longjmp},
    {"signals", subject_signals},
    {"faults", subject_faults},
    {"breakpoints", subject_breakpoints},
    {"calls", subject_calls},
    {"interrupted", subject_interrupted},
    {"stopped", subject_stopped},
    {"vdso", subject_vdso},
    {"rseq", subject_rseq},
    {"threads", subject_threads},
    {"processes", subject_processes},
    {"exec", subject_exec},
    {"dlopen", subject_dlopen},
    {"jit", subject_jit},
    {"affinity", subject_affinity},
    {"overlap", subject_overlap},
};

}  // namespace

const char* subject_path = nullptr;

extern "C" __attribute__((noinline)) int run_subject(const char* name) {
  for (const Subject& subject : kSubjects) {
    if (std::strcmp(subject.name, name) == 0) return subject.run() ? 0 : 1;
  }
  return 2;
}

extern "C" __attribute__((noinline)) void crash_here(volatile int* nowhere) {
  volatile int something = 1;
  *nowhere = something;
}

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "crash") == 0) crash_here(nullptr);
  // Not in the list, because it takes half a second and waits.
  if (argc == 2 && std::strcmp(argv[1], "chain") == 0) return subject_chain() ? 0 : 1;
  if (argc == 2 && std::strcmp(argv[1], "list") == 0) {
    for (const Subject& subject : kSubjects) std::puts(subject.name);
    return 0;
  }
  subject_path = argv[0];
  if (argc != 2) return 2;
  if (!subject_possible(argv[1])) return 77;
  return run_subject(argv[1]);
}
