#include "snapshot/record/pt/code_image.h"

#include <elf.h>

#include <cstring>
#include <utility>

namespace fathom::snapshot {
namespace {

constexpr uint64_t kCodeOffset = 4096;
constexpr uint64_t kAlign = 16;
constexpr std::string_view kSectionNames("\0.text\0.symtab\0.strtab\0.shstrtab\0", 33);
enum Section : uint16_t { kNone, kText, kSymbols, kNames, kSectionsNames, kSections };

template <typename T>
void append_struct(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

uint32_t name_of(std::string_view section) {
  return static_cast<uint32_t>(kSectionNames.find(section));
}

Elf64_Shdr section(std::string_view name, uint32_t type, uint64_t offset, uint64_t bytes) {
  Elf64_Shdr header{};
  header.sh_name = name_of(name);
  header.sh_type = type;
  header.sh_offset = offset;
  header.sh_size = bytes;
  header.sh_addralign = 1;
  return header;
}

void align(std::string& out) {
  out.append((kAlign - out.size() % kAlign) % kAlign, '\0');
}

Elf64_Ehdr file_header(uint64_t sections_at) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_shoff = sections_at;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kSections;
  header.e_shstrndx = kSectionsNames;
  return header;
}

Elf64_Phdr code_segment(uint64_t bytes) {
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_R | PF_X;
  segment.p_offset = segment.p_vaddr = segment.p_paddr = kCodeOffset;
  segment.p_filesz = segment.p_memsz = bytes;
  segment.p_align = kCodeOffset;
  return segment;
}

}  // namespace

CodeImageBuilder::CodeImageBuilder() : image_(kCodeOffset, '\0'), names_(1, '\0') {
  append_struct(symbols_, Elf64_Sym{});
}

uint64_t CodeImageBuilder::add_code(std::string_view bytes) {
  align(image_);
  const uint64_t at = image_.size();
  image_.append(bytes);
  return at;
}

void CodeImageBuilder::add_symbol(std::string_view name, uint64_t file_offset, uint64_t bytes) {
  if (names_.size() + name.size() >= UINT32_MAX) return;
  Elf64_Sym symbol{};
  symbol.st_name = static_cast<uint32_t>(names_.size());
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbol.st_shndx = kText;
  symbol.st_value = file_offset;
  symbol.st_size = bytes;
  append_struct(symbols_, symbol);
  names_.append(name.substr(0, name.find('\0')));
  names_.push_back('\0');
}

std::string CodeImageBuilder::finish() {
  std::string out = std::exchange(image_, {});
  const uint64_t code_bytes = out.size() - kCodeOffset;
  Elf64_Shdr text = section(".text", SHT_PROGBITS, kCodeOffset, code_bytes);
  text.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  text.sh_addr = kCodeOffset;
  align(out);
  Elf64_Shdr symbols = section(".symtab", SHT_SYMTAB, out.size(), symbols_.size());
  symbols.sh_link = kNames;
  symbols.sh_info = 1;
  symbols.sh_entsize = sizeof(Elf64_Sym);
  out += symbols_;
  const Elf64_Shdr names = section(".strtab", SHT_STRTAB, out.size(), names_.size());
  out += names_;
  const Elf64_Shdr section_names = section(".shstrtab", SHT_STRTAB, out.size(), kSectionNames.size());
  out += kSectionNames;
  align(out);
  const Elf64_Ehdr header = file_header(out.size());
  const Elf64_Phdr segment = code_segment(code_bytes);
  for (const Elf64_Shdr& one : {Elf64_Shdr{}, text, symbols, names, section_names}) append_struct(out, one);
  std::memcpy(out.data(), &header, sizeof header);
  std::memcpy(out.data() + sizeof header, &segment, sizeof segment);
  symbols_.clear();
  names_.clear();
  return out;
}

}  // namespace fathom::snapshot
