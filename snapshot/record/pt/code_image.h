// CodeImageBuilder: an ELF file around code that has no file: the kernel's text, jitted functions.
//
// Purpose: names and bytes travel in one image, so that whoever reads images needs to know one kind. Addresses in it
// are its own file offsets: what lies where in a process, the maps say. Thread safety: one thread. Source of the idea:
// the ELF specification; perf writes jitted code likewise.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fathom::snapshot {

class CodeImageBuilder {
 public:
  CodeImageBuilder();
  // The file offset at which the bytes lie.
  uint64_t add_code(std::string_view bytes);
  // A function at a file offset that add_code() named, or behind it.
  void add_symbol(std::string_view name, uint64_t file_offset, uint64_t bytes);
  uint64_t size() const { return image_.size() + symbols_.size() + names_.size(); }
  // The whole file. Afterwards the builder is empty.
  std::string finish();

 private:
  std::string image_;  // room for the headers, then the code
  std::string symbols_;
  std::string names_;
};

}  // namespace fathom::snapshot
