// Where a function is in a process that runs: symbols of the files that it has mapped.
//
// Thread safety: pure functions. Errors: none found is an empty answer.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/record/step/proc_maps.h"

namespace fathom::snapshot::step {

// Addresses of all functions of that name (demangled, with or without parameters, or raw), in whatever code is mapped;
// those in classes and namespaces that the name does not say only where there are no others.
std::vector<uint64_t> find_function(pid_t pid, const std::string& name);
// Whose functions these are: the files of code that is mapped.
std::vector<std::string> code_files(pid_t pid);
// For people: there is none in these files, and which ones may be meant; there are more than `most`, so that not each
// can have a breakpoint.
std::string no_function(const std::string& name, const std::vector<std::string>& files);
std::string too_many_functions(const std::string& name, size_t most);
// Where the program itself begins when the dynamic linker is done; 0: unknown.
uint64_t program_entry(pid_t pid);
// "handle(int)+0x4" by the symbols of the file that is mapped there; else the address.
std::string place_name(const std::vector<MappedFile>& code, uint64_t ip);

}  // namespace fathom::snapshot::step
