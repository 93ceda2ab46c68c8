#include "snapshot/symbols/elf_file.h"

#include <elfutils/libdwelf.h>
#include <sys/stat.h>

#include "snapshot/format/code_file.h"

namespace fathom::snapshot {
namespace {

constexpr size_t kMostSegments = 1024;

std::string words() {
  const char* text = elf_errmsg(-1);
  return text != nullptr ? text : "no reason given";
}

bool is_code(const GElf_Phdr& header) {
  return header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0 && header.p_filesz > 0 &&
         header.p_vaddr + header.p_filesz > header.p_vaddr && header.p_offset + header.p_filesz > header.p_offset;
}

}  // namespace

Result<ElfFile> ElfFile::open(const std::string& path, const std::string& name) {
  // A name that came with a snapshot may be a pipe's.
  Fd file = open_code(path);
  if (!file.open()) return system_error("cannot open " + name);
  return open_file(std::move(file), name);
}

Result<ElfFile> ElfFile::open_file(Fd file, const std::string& name) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return system_error("cannot look at " + name);
  if (!S_ISREG(status.st_mode)) return invalid(name + " is no regular file");
  elf_version(EV_CURRENT);
  ElfFile opened;
  opened.file_ = std::move(file);
  opened.elf_.reset(elf_begin(opened.file_.get(), ELF_C_READ_MMAP, nullptr));
  return checked(std::move(opened), name);
}

Result<ElfFile> ElfFile::open_bytes(std::string bytes, const std::string& name) {
  elf_version(EV_CURRENT);
  ElfFile opened;
  opened.bytes_ = std::make_unique<std::string>(std::move(bytes));
  opened.elf_.reset(elf_memory(opened.bytes_->data(), opened.bytes_->size()));
  return checked(std::move(opened), name);
}

Result<ElfFile> ElfFile::checked(ElfFile file, const std::string& name) {
  if (file.elf_ == nullptr) return corrupt(name + ": " + words());
  if (elf_kind(file.elf()) != ELF_K_ELF) return Error{ErrorCode::kUnsupported, name + " is no ELF file"};
  GElf_Ehdr header{};
  if (gelf_getehdr(file.elf(), &header) == nullptr) return corrupt(name + ": " + words());
  if (header.e_machine != EM_X86_64 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return Error{ErrorCode::kUnsupported, name + " is not for x86-64"};
  }
  if (auto read = file.read_segments(name); !read) return read.error();
  return file;
}

Result<> ElfFile::read_segments(const std::string& name) {
  size_t count = 0;
  if (elf_getphdrnum(elf(), &count) != 0) return corrupt(name + ": " + words());
  if (count > kMostSegments) return corrupt(name + ": " + std::to_string(count) + " program headers");
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header{};
    if (gelf_getphdr(elf(), static_cast<int>(i), &header) == nullptr) return corrupt(name + ": " + words());
    if (is_code(header)) code_.push_back({header.p_vaddr, header.p_offset, header.p_filesz});
  }
  return {};
}

std::optional<uint64_t> ElfFile::offset_of(uint64_t address) const {
  for (const CodeSegment& segment : code_) {
    if (address - segment.address < segment.bytes) return segment.file_offset + (address - segment.address);
  }
  return std::nullopt;
}

const CodeSegment* ElfFile::segment_at(uint64_t offset) const {
  for (const CodeSegment& segment : code_) {
    if (offset - segment.file_offset < segment.bytes) return &segment;
  }
  return nullptr;
}

std::optional<uint64_t> ElfFile::address_of(uint64_t offset) const {
  const CodeSegment* segment = segment_at(offset);
  if (segment == nullptr) return std::nullopt;
  return segment->address + (offset - segment->file_offset);
}

std::optional<ElfFile::Section> ElfFile::section(std::string_view name) const {
  size_t strings = 0;
  if (elf_getshdrstrndx(elf(), &strings) != 0) return std::nullopt;
  for (Elf_Scn* scn = elf_nextscn(elf(), nullptr); scn != nullptr; scn = elf_nextscn(elf(), scn)) {
    Section found{scn, {}};
    if (gelf_getshdr(scn, &found.header) == nullptr) continue;
    const char* text = elf_strptr(elf(), strings, found.header.sh_name);
    if (text != nullptr && name == text) return found;
  }
  return std::nullopt;
}

std::optional<ElfFile::Section> ElfFile::section_of_type(uint32_t type) const {
  for (Elf_Scn* scn = elf_nextscn(elf(), nullptr); scn != nullptr; scn = elf_nextscn(elf(), scn)) {
    Section found{scn, {}};
    if (gelf_getshdr(scn, &found.header) != nullptr && found.header.sh_type == type) return found;
  }
  return std::nullopt;
}

std::string_view ElfFile::bytes(const Section& section) {
  if (section.header.sh_type == SHT_NOBITS) return {};
  const Elf_Data* data = elf_rawdata(section.scn, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const char*>(data->d_buf), data->d_size};
}

std::string ElfFile::build_id() const {
  const void* bytes = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(elf(), &bytes);
  return size > 0 ? std::string(static_cast<const char*>(bytes), static_cast<size_t>(size)) : std::string();
}

}  // namespace fathom::snapshot
