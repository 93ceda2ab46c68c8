// Any bytes as an image: symbols and lines are read, or refused with a reason; extents hold what was asked for.
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/fd.h"
#include "base/whole_io.h"
#include "snapshot/symbols/image_symbols.h"

namespace {

using namespace fathom::snapshot;

void look_at(const ImageSymbols& symbols, uint64_t offset) {
  const FunctionExtent extent = symbols.extent(offset);
  if (offset < extent.begin || offset >= extent.end) std::abort();
  symbols.own_line(offset);
  const auto frames = symbols.frames(offset);
  // The line that is told alone is the innermost.
  const auto line = symbols.line(offset);
  if (!frames.empty() && (!line || frames.front().at.line != line->line)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fathom::Fd file(::memfd_create("image", MFD_CLOEXEC));
  if (!fathom::write_whole(file.get(), {reinterpret_cast<const char*>(data), size}, "image")) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  Image image;
  image.name = "image";
  const auto symbols = ImageSymbols::load(path, image);
  for (uint64_t offset = 0; offset < size; offset += 1 + size / 64) look_at(*symbols, offset);
  for (const std::string& name : symbols->some_names(16)) symbols->named(name);
  symbols->offsets_of_line("sample.cc", 3);
  symbols->offsets_of_line("inlined.cc", 15);
  return 0;
}
