#include "snapshot/record/pt/kernel_text.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "base/fd.h"
#include "snapshot/record/pt/code_image.h"
#include "snapshot/record/pt/system_files.h"

namespace fathom::snapshot {
namespace {

constexpr size_t kMostSymbolBytes = 256 << 20;
constexpr uint64_t kMostTextBytes = 256 << 20;
constexpr uint64_t kTextPageBytes = 4096;
constexpr uint64_t kGapBytes = 64 << 10;  // between two functions of one range
constexpr uint64_t kMostFunctionBytes = 64 << 10;
constexpr uint16_t kMostKcoreSegments = 1024;

Error hidden(const std::string& what, const std::string& cure) {
  return {ErrorCode::kUnsupported, "the kernel's code cannot be copied: " + what + "; " + cure};
}

// "ffffffff81000000 T _stext", with "\t[module]" behind it.
bool parse_symbol(std::string_view line, KernelSymbol& symbol) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || line.size() < space + 4) return false;
  const char type = line[space + 1];
  if (type != 't' && type != 'T' && type != 'w' && type != 'W') return false;
  const auto address = parse_number(line.substr(0, space), 16);
  if (!address) return false;
  symbol.address = *address;
  std::string_view name = line.substr(space + 3);
  symbol.name = name.substr(0, name.find('\t'));
  return true;
}

void set_sizes(std::vector<KernelSymbol>& symbols) {
  for (size_t i = 0; i < symbols.size(); ++i) {
    const uint64_t end = i + 1 < symbols.size() ? symbols[i + 1].address : UINT64_MAX;
    symbols[i].bytes = std::min(end - symbols[i].address, kMostFunctionBytes);
  }
}

// kcore is an ELF file whose segments are the kernel's memory.
class KernelMemory {
 public:
  explicit KernelMemory(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    Elf64_Ehdr header;
    if (!file_.open() || ::pread(file_.get(), &header, sizeof header, 0) != sizeof header) return;
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(Elf64_Phdr)) return;
    segments_.resize(std::min(header.e_phnum, kMostKcoreSegments));
    const auto bytes = static_cast<ssize_t>(segments_.size() * sizeof(Elf64_Phdr));
    if (::pread(file_.get(), segments_.data(), static_cast<size_t>(bytes), static_cast<off_t>(header.e_phoff)) != bytes)
      segments_.clear();
  }
  bool readable() const { return !segments_.empty(); }

  std::string read(uint64_t address, uint64_t bytes) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
        continue;
      std::string text(std::min(bytes, segment.p_filesz - (address - segment.p_vaddr)), '\0');
      const uint64_t offset = segment.p_offset + (address - segment.p_vaddr);
      const ssize_t got = ::pread(file_.get(), text.data(), text.size(), static_cast<off_t>(offset));
      text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
      return text;
    }
    return {};
  }

 private:
  Fd file_;
  std::vector<Elf64_Phdr> segments_;
};

void copy_ranges(const KernelMemory& memory, std::vector<KernelRange>& ranges, CodeImageBuilder& builder) {
  for (KernelRange& range : ranges) {
    const uint64_t left = kMostTextBytes - std::min(builder.size(), kMostTextBytes);
    const std::string code = memory.read(range.address, std::min(range.bytes, left));
    range.bytes = code.size();
    if (!code.empty()) range.file_offset = builder.add_code(code);
  }
  std::erase_if(ranges, [](const KernelRange& range) { return range.bytes == 0; });
}

void name_ranges(const std::vector<KernelSymbol>& symbols, const std::vector<KernelRange>& ranges,
                 CodeImageBuilder& builder) {
  auto symbol = symbols.begin();
  for (const KernelRange& range : ranges) {
    symbol = std::lower_bound(symbol, symbols.end(), range.address,
                              [](const KernelSymbol& one, uint64_t address) { return one.address < address; });
    for (; symbol != symbols.end() && symbol->address - range.address < range.bytes; ++symbol)
      builder.add_symbol(symbol->name, range.file_offset + (symbol->address - range.address), symbol->bytes);
  }
}

}  // namespace

Result<std::vector<KernelSymbol>> parse_kallsyms(std::string_view text) {
  std::vector<KernelSymbol> symbols;
  for (const std::string_view line : split_lines(text)) {
    KernelSymbol symbol;
    if (parse_symbol(line, symbol) && symbol.address != 0) symbols.push_back(std::move(symbol));
  }
  if (symbols.empty())
    return hidden("/proc/kallsyms hides its addresses", "run it with CAP_SYSLOG, or set kernel.kptr_restrict=0");
  std::ranges::stable_sort(symbols, {}, &KernelSymbol::address);
  set_sizes(symbols);
  return symbols;
}

std::vector<KernelRange> ranges_of(const std::vector<KernelSymbol>& symbols) {
  std::vector<KernelRange> ranges;
  for (const KernelSymbol& symbol : symbols) {
    const uint64_t begin = symbol.address / kTextPageBytes * kTextPageBytes;
    if (symbol.address > UINT64_MAX - kMostFunctionBytes - kTextPageBytes) continue;
    const uint64_t end = (symbol.address + symbol.bytes + kTextPageBytes - 1) / kTextPageBytes * kTextPageBytes;
    const bool goes_on = !ranges.empty() && begin <= ranges.back().address + ranges.back().bytes + kGapBytes;
    if (goes_on)
      ranges.back().bytes = std::max(ranges.back().bytes, end - ranges.back().address);
    else
      ranges.push_back({begin, end - begin, 0});
  }
  return ranges;
}

Result<KernelText> read_kernel_text(const PerfSystem& system) {
  const auto text = read_small_file(system.path("/proc/kallsyms"), kMostSymbolBytes);
  if (!text) return hidden("/proc/kallsyms is not readable", "run it as root");
  auto symbols = parse_kallsyms(*text);
  if (!symbols) return symbols.error();
  const KernelMemory memory(system.path("/proc/kcore"));
  if (!memory.readable())
    return hidden("/proc/kcore is not readable", "run it as root (CAP_SYS_RAWIO), on a kernel without lockdown");
  KernelText kernel;
  CodeImageBuilder builder;
  kernel.ranges = ranges_of(*symbols);
  copy_ranges(memory, kernel.ranges, builder);
  if (kernel.ranges.empty()) return hidden("/proc/kcore has no code", "use a kernel with CONFIG_PROC_KCORE");
  name_ranges(*symbols, kernel.ranges, builder);
  kernel.image = builder.finish();
  return kernel;
}

}  // namespace fathom::snapshot
