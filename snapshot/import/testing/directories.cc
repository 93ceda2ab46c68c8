#include "snapshot/import/testing/directories.h"

#include <elf.h>
#include <stdlib.h>

#include <cstring>

#include "base/bytes.h"

namespace fathom::snapshot {
namespace {

constexpr size_t kPage = 4096;

template <typename T>
void put(std::string& bytes, size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

std::string note(const std::string& build_id) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u32(4);
  out.u32(static_cast<uint32_t>(build_id.size()));
  out.u32(NT_GNU_BUILD_ID);
  out.raw(std::string_view("GNU\0", 4));
  out.raw(build_id);
  return bytes;
}

}  // namespace

std::string ScratchDirectory::write(const std::string& name, const std::string& content) const {
  const std::string file = path(name);
  std::filesystem::create_directories(std::filesystem::path(file).parent_path());
  std::ofstream(file, std::ios::binary) << content;
  return file;
}

std::string test_elf(const std::vector<TestSegment>& segments, const std::string& build_id) {
  const std::string id = note(build_id);
  std::string bytes(kPage * (segments.size() + 1), '\0');
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = static_cast<Elf64_Half>(segments.size() + (build_id.empty() ? 0 : 1));
  put(bytes, 0, header);
  size_t at = sizeof header;
  for (size_t i = 0; i < segments.size(); ++i, at += sizeof(Elf64_Phdr)) {
    Elf64_Phdr load{};
    load.p_type = PT_LOAD;
    load.p_flags = segments[i].executable ? PF_R | PF_X : PF_R;
    load.p_offset = kPage * (i + 1);
    load.p_vaddr = segments[i].address;
    load.p_filesz = load.p_memsz = segments[i].content.size();
    put(bytes, at, load);
    bytes.replace(load.p_offset, segments[i].content.size(), segments[i].content);
  }
  if (build_id.empty()) return bytes;
  Elf64_Phdr place{};
  place.p_type = PT_NOTE;
  place.p_offset = kPage - id.size();
  place.p_filesz = id.size();
  put(bytes, at, place);
  bytes.replace(place.p_offset, id.size(), id);
  return bytes;
}

}  // namespace fathom::snapshot
