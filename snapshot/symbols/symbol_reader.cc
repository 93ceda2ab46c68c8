#include "snapshot/symbols/symbol_reader.h"

#include <algorithm>

namespace fathom::snapshot {
namespace {

struct Extent {
  uint64_t begin = 0;
  uint64_t bytes = 0;
};

// By number; what a symbol without a size may not leave.
std::vector<Extent> sections_of(const ElfFile& file) {
  std::vector<Extent> extents(1);
  for (Elf_Scn* scn = elf_nextscn(file.elf(), nullptr); scn != nullptr; scn = elf_nextscn(file.elf(), scn)) {
    GElf_Shdr header{};
    const bool read = gelf_getshdr(scn, &header) != nullptr;
    extents.push_back(read ? Extent{header.sh_addr, header.sh_size} : Extent{});
  }
  return extents;
}

// A name that ends inside of its table, without a version ("memcpy@@GLIBC_2.14").
std::string_view name_in(std::string_view strings, uint64_t at) {
  if (at >= strings.size()) return {};
  strings.remove_prefix(at);
  const size_t end = strings.find('\0');
  if (end == std::string_view::npos) return {};
  const std::string_view name = strings.substr(0, end);
  return name.substr(0, name.find('@'));
}

uint32_t preference_of(const GElf_Sym& symbol, std::string_view name) {
  const unsigned binding = GELF_ST_BIND(symbol.st_info);
  uint32_t preference = binding == STB_GLOBAL ? 3 : binding == STB_WEAK ? 2 : 1;
  if (symbol.st_size > 0) preference += 16;
  if (GELF_ST_TYPE(symbol.st_info) != STT_NOTYPE) preference += 8;
  if (!name.starts_with("_") || name.starts_with("_Z")) preference += 4;
  return preference;
}

// Assembler code has labels without a type; its local ones are places inside of a function.
bool is_function(const GElf_Sym& symbol) {
  const unsigned type = GELF_ST_TYPE(symbol.st_info);
  if (symbol.st_shndx == SHN_UNDEF) return false;
  if (type == STT_FUNC || type == STT_GNU_IFUNC) return true;
  return type == STT_NOTYPE && GELF_ST_BIND(symbol.st_info) != STB_LOCAL;
}

uint64_t plus(uint64_t a, uint64_t b) {
  return a + b < a ? UINT64_MAX : a + b;
}

class Reader {
 public:
  Reader(const ElfFile& image, const ElfFile& from) : image_(image), sections_(sections_of(from)) {}

  std::optional<Symbol> place(const GElf_Sym& symbol, std::string_view name) const {
    const auto begin = image_.offset_of(symbol.st_value);
    if (!begin || name.empty() || !is_function(symbol)) return std::nullopt;
    return Symbol{*begin, plus(*begin, symbol.st_size), limit(symbol, *begin), name, preference_of(symbol, name)};
  }

 private:
  uint64_t limit(const GElf_Sym& symbol, uint64_t begin) const {
    const CodeSegment* segment = image_.segment_at(begin);
    uint64_t end = plus(segment->file_offset, segment->bytes);
    if (symbol.st_shndx >= sections_.size()) return end;
    const Extent& section = sections_[symbol.st_shndx];
    const uint64_t into = symbol.st_value - section.begin;
    return into < section.bytes ? std::min(end, plus(begin, section.bytes - into)) : end;
  }

  const ElfFile& image_;
  std::vector<Extent> sections_;
};

std::string_view linked_strings(const ElfFile& file, const GElf_Shdr& header) {
  ElfFile::Section strings{elf_getscn(file.elf(), header.sh_link), {}};
  if (strings.scn == nullptr || gelf_getshdr(strings.scn, &strings.header) == nullptr) return {};
  return ElfFile::bytes(strings);
}

// An array of fixed records, read one at a time.
template <typename Record>
class Records {
 public:
  explicit Records(std::string_view bytes) : bytes_(bytes) {}
  size_t size() const { return bytes_.size() / sizeof(Record); }
  Record operator[](size_t i) const {
    Record record;
    std::copy_n(bytes_.data() + i * sizeof(Record), sizeof(Record), reinterpret_cast<char*>(&record));
    return record;
  }

 private:
  std::string_view bytes_;
};

}  // namespace

size_t read_symbols(const ElfFile& image, const ElfFile& from, uint32_t type, SymbolTable& table) {
  const auto section = from.section_of_type(type);
  if (!section) return 0;
  const std::string_view strings = linked_strings(from, section->header);
  const Records<Elf64_Sym> symbols(ElfFile::bytes(*section));
  const Reader reader(image, from);
  size_t count = 0;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Elf64_Sym symbol = symbols[i];
    const auto placed = reader.place(symbol, name_in(strings, symbol.st_name));
    if (!placed) continue;
    if (!table.add(*placed)) break;
    ++count;
  }
  return count;
}

namespace {

// What fills the slots of the global offset table: by the slot's address, and by the number that lazy entries push.
class Slots {
 public:
  Slots(const ElfFile& image, const SymbolTable& table) : image_(image), table_(table) {
    for (const char* name : {".rela.plt", ".rela.dyn"}) {
      const auto section = image.section(name);
      if (!section) continue;
      const bool is_plt = std::string_view(name) == ".rela.plt";
      read(Records<Elf64_Rela>(ElfFile::bytes(*section)), symbols(section->header), is_plt);
    }
    std::sort(slots_.begin(), slots_.end());
  }

  std::string_view at(uint64_t address) const {
    const auto found = std::lower_bound(slots_.begin(), slots_.end(), std::pair(address, std::string_view()));
    return found != slots_.end() && found->first == address ? found->second : std::string_view();
  }
  std::string_view pushed(uint32_t number) const {
    return number < pushed_.size() ? pushed_[number] : std::string_view();
  }

 private:
  struct Symbols {
    Records<Elf64_Sym> records{{}};
    std::string_view strings;
  };
  Symbols symbols(const GElf_Shdr& relocations) const {
    ElfFile::Section section{elf_getscn(image_.elf(), relocations.sh_link), {}};
    if (section.scn == nullptr || gelf_getshdr(section.scn, &section.header) == nullptr) return {};
    if (section.header.sh_type != SHT_DYNSYM && section.header.sh_type != SHT_SYMTAB) return {};
    return {Records<Elf64_Sym>(ElfFile::bytes(section)), linked_strings(image_, section.header)};
  }
  void read(const Records<Elf64_Rela>& relocations, const Symbols& symbols, bool is_plt) {
    for (size_t i = 0; i < std::min(relocations.size(), kMostSlots); ++i) {
      const Elf64_Rela one = relocations[i];
      const std::string_view name = name_of(one, symbols);
      if (is_plt) pushed_.push_back(name);
      if (!name.empty()) slots_.emplace_back(one.r_offset, name);
    }
  }
  std::string_view name_of(const Elf64_Rela& one, const Symbols& symbols) const {
    const uint64_t number = ELF64_R_SYM(one.r_info);
    if (ELF64_R_TYPE(one.r_info) == R_X86_64_IRELATIVE) return resolver(static_cast<uint64_t>(one.r_addend));
    if (number == 0 || number >= symbols.records.size()) return {};
    return name_in(symbols.strings, symbols.records[number].st_name);
  }
  std::string_view resolver(uint64_t address) const {
    const auto offset = image_.offset_of(address);
    const uint32_t symbol = offset ? table_.find(*offset).symbol : kNoSymbol;
    return symbol == kNoSymbol ? std::string_view() : table_.symbols()[symbol].name;
  }

  static constexpr size_t kMostSlots = 1u << 20;
  const ElfFile& image_;
  const SymbolTable& table_;
  std::vector<std::pair<uint64_t, std::string_view>> slots_;
  std::vector<std::string_view> pushed_;
};

uint32_t little32(std::string_view bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[static_cast<size_t>(i)]);
  return value;
}

// What the first entry of .plt is called, which looks a symbol up when it is called for the first time:
// `push *slot(%rip); [bnd] jmp *slot(%rip)`.
constexpr std::string_view kLookUp = "first-call";

bool is_look_up(std::string_view code) {
  using namespace std::string_view_literals;
  if (!code.starts_with("\xff\x35"sv) || code.size() < 13) return false;
  return code.substr(6).starts_with("\xff\x25"sv) || code.substr(6).starts_with("\xf2\xff\x25"sv);
}

// An entry is `[endbr64] [bnd] jmp *slot(%rip)`, or `[endbr64] push number` where the jump has a table of its own.
std::string_view entry_name(std::string_view code, uint64_t address, const Slots& slots) {
  using namespace std::string_view_literals;
  const size_t whole = code.size();
  if (code.starts_with("\xf3\x0f\x1e\xfa"sv)) code.remove_prefix(4);
  if (code.starts_with("\xf2\xff\x25"sv)) code.remove_prefix(1);
  if (code.starts_with("\xff\x25"sv) && code.size() >= 6) {
    const auto distance = static_cast<int32_t>(little32(code.substr(2)));
    const uint64_t next = address + (whole - code.size()) + 6;
    return slots.at(next + static_cast<uint64_t>(static_cast<int64_t>(distance)));
  }
  if (code.starts_with("\x68"sv) && code.size() >= 5) return slots.pushed(little32(code.substr(1)));
  if (is_look_up(code)) return kLookUp;
  return {};
}

void read_entries(const ElfFile& image, const ElfFile::Section& section, size_t entry_bytes, const Slots& slots,
                  SymbolTable& out, std::deque<std::string>& made_names) {
  const std::string_view code = ElfFile::bytes(section);
  for (size_t at = 0; at + entry_bytes <= code.size(); at += entry_bytes) {
    const uint64_t address = section.header.sh_addr + at;
    const std::string_view name = entry_name(code.substr(at, entry_bytes), address, slots);
    const auto begin = image.offset_of(address);
    if (name.empty() || !begin) continue;
    made_names.push_back(std::string(name) + "@plt");
    const uint64_t end = plus(*begin, entry_bytes);
    if (!out.add({*begin, end, end, made_names.back(), 0})) return;
  }
}

}  // namespace

void read_plt(const ElfFile& image, const SymbolTable& table, SymbolTable& out, std::deque<std::string>& made_names) {
  const Slots slots(image, table);
  for (const char* name : {".plt", ".plt.sec", ".plt.got"}) {
    const auto section = image.section(name);
    if (!section) continue;
    const uint64_t stated = section->header.sh_entsize;
    const bool known = stated == 8 || stated == 16;
    read_entries(image, *section, known ? stated : 16, slots, out, made_names);
  }
}

}  // namespace fathom::snapshot
