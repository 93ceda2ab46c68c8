// The subjects of step_subject.cc. Each says whether what it did came out right.
#pragma once

extern const char* subject_path;  // of this program, for those that start it again

bool subject_possible(const char* name);

bool subject_recursion();
bool subject_indirect();
bool subject_branches();
bool subject_rep();
bool subject_avx512();
bool subject_flags();
bool subject_exceptions();
bool subject_longjmp();
bool subject_signals();
bool subject_faults();
bool subject_breakpoints();
bool subject_calls();
bool subject_interrupted();
bool subject_stopped();
bool subject_vdso();
bool subject_rseq();
bool subject_threads();
bool subject_processes();
bool subject_exec();
bool subject_dlopen();
bool subject_jit();
bool subject_affinity();
bool subject_overlap();
bool subject_chain();
