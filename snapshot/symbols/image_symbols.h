// ImageSymbols: names, extents and source lines of one image's code.
//
// Purpose: the only reader of symbol tables and DWARF. Addresses are offsets in the image's file, which is what maps
// tell, so a position-independent file needs no base. Functions come from .symtab (the file's own or its debug file's),
// else .dynsym and .gnu_debugdata, PLT entries as "name@plt"; C++ names are demangled. Debug files are found beside the
// image's original path and under /usr/lib/debug by build-id or .gnu_debuglink. Thread safety: const functions from any
// thread (lines are read lazily, under a lock). Errors: an unreadable file has no symbols, and problem() says why. The
// file is hostile input: limits and checks hold.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

struct Function {
  uint64_t begin = 0;  // offsets in the image's file
  uint64_t end = 0;
  std::string name;  // demangled
};

struct SourceLine {
  std::string file;
  uint32_t line = 0;
};

// One of the functions whose text an instruction comes from: the compiler put each into the next one.
struct SourceFrame {
  std::string function;  // demangled; empty: not known
  SourceLine at;         // line 0: not known
};

// Offsets in which the same answer holds: of a function (or of the part of it that no other one covers), or of a
// stretch without symbols.
struct FunctionExtent {
  const Function* function = nullptr;
  uint64_t begin = 0;
  uint64_t end = UINT64_MAX;
};

class ImageSymbols {
 public:
  // `path`: the private copy. `image` says what it is, and where it came from.
  static std::unique_ptr<ImageSymbols> load(const std::string& path, const Image& image);
  ~ImageSymbols();

  // The function whose extent holds `offset`; symbols without a size reach to the next one. Pointers live as long as
  // this.
  const Function* function(uint64_t offset) const { return extent(offset).function; }
  FunctionExtent extent(uint64_t offset) const;
  // The instruction's own, which may be of a function that was inlined.
  std::optional<SourceLine> line(uint64_t offset) const;
  // In the text of function(offset): where code of another was inlined, the line of the call.
  std::optional<SourceLine> own_line(uint64_t offset) const;
  // Innermost first, function(offset) last; one alone where nothing was inlined, none where no line is known.
  std::vector<SourceFrame> frames(uint64_t offset) const;
  // Every function whose demangled or raw name matches; for patterns of instructions to start at. "handle" also means
  // "int shop::handle(Request&)", and '*' and '?' stand for what is left out.
  std::vector<const Function*> named(std::string_view name) const;
  // Where code of the line begins ("main.cc" means ".../main.cc"), once per function; sorted.
  std::vector<uint64_t> offsets_of_line(std::string_view file, uint32_t line) const;
  // Whether a line may be of this file, as the lines above name files.
  bool names_source(std::string_view file) const;
  // Demangled names, in no order, at most `most`: for "did you mean".
  std::vector<std::string> some_names(size_t most) const;
  const std::string& problem() const;

 private:
  ImageSymbols();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fathom::snapshot
