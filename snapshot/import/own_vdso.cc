#include "snapshot/import/own_vdso.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "base/whole_io.h"
#include "snapshot/import/elf_layout.h"

namespace fathom::snapshot {

std::optional<OwnVdso> own_vdso() {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it is how the kernel tells it
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(::getauxval(AT_SYSINFO_EHDR));
  if (header == nullptr) return std::nullopt;
  OwnVdso vdso;
  // Its sections' table stands at its end.
  const size_t bytes = header->e_shoff + size_t{header->e_shnum} * header->e_shentsize;
  vdso.bytes.assign(reinterpret_cast<const char*>(header), bytes);
  Fd file(::memfd_create("vdso", MFD_CLOEXEC));
  if (!file.open() || !write_whole(file.get(), vdso.bytes, "vdso")) return std::nullopt;
  auto elf = read_elf_layout(file, "[vdso]");
  if (!elf || elf->build_id.empty()) return std::nullopt;
  vdso.build_id = elf->build_id;
  return vdso;
}

}  // namespace fathom::snapshot
