#include "snapshot/symbols/image_symbols.h"

#include <deque>
#include <mutex>
#include <unordered_map>

#include "snapshot/symbols/debug_data.h"
#include "snapshot/symbols/debug_file.h"
#include "snapshot/symbols/demangle.h"
#include "snapshot/symbols/elf_file.h"
#include "snapshot/symbols/source_lines.h"
#include "snapshot/symbols/symbol_reader.h"

namespace fathom::snapshot {

namespace {

constexpr uint64_t kMostDebugDataBytes = 256u << 20;

}  // namespace

struct ImageSymbols::State {
  std::optional<ElfFile> file;
  std::optional<ElfFile> debug;  // what was stripped off
  std::optional<ElfFile> mini;   // .gnu_debugdata
  std::deque<std::string> made_names;
  SymbolTable table;
  std::string problem;

  std::mutex lock;  // guards all that follows, and libelf and libdw
  std::optional<SourceLines> lines;
  std::unordered_map<uint32_t, Function> functions;  // by symbol; a name is demangled when it is asked for

  void read_file(const std::string& path, const Image& image);
  void read_mini();
  void read_tables();
  void add_plt();
  const Function* function(uint32_t symbol);
  SourceLines& source_lines();
  template <typename Found>
  Found in_lines(uint64_t offset, Found (SourceLines::*find)(uint64_t address));
};

void ImageSymbols::State::read_file(const std::string& path, const Image& image) {
  if (image.content == Sha256{} && path.empty()) {
    problem = image.missing.empty() ? "its bytes are missing" : image.missing;
    return;
  }
  auto opened = ElfFile::open(path, image.name.empty() ? path : image.name);
  if (!opened) {
    problem = opened.error().message;
    return;
  }
  file.emplace(std::move(*opened));
  debug = find_debug_file(*file, image.name, kDebugRoot);
  read_tables();
  if (table.symbols().empty()) problem = "it was stripped of all symbols, and no debug file was found";
}

void ImageSymbols::State::read_mini() {
  const auto section = file->section(".gnu_debugdata");
  if (!section) return;
  auto unpacked = unpack_debug_data(ElfFile::bytes(*section), kMostDebugDataBytes);
  if (!unpacked) return;
  auto opened = ElfFile::open_bytes(std::move(*unpacked), ".gnu_debugdata");
  if (!opened) return;
  mini.emplace(std::move(*opened));
  read_symbols(*file, *mini, SHT_SYMTAB, table);
}

// .symtab holds what .dynsym has, and the functions of the file's own.
void ImageSymbols::State::read_tables() {
  size_t count = read_symbols(*file, *file, SHT_SYMTAB, table);
  if (count == 0 && debug) count = read_symbols(*file, *debug, SHT_SYMTAB, table);
  if (count == 0) {
    read_symbols(*file, *file, SHT_DYNSYM, table);
    read_mini();
  }
  table.settle();
  add_plt();
}

// Slots are filled with functions, so these are named first.
void ImageSymbols::State::add_plt() {
  SymbolTable with_plt = table;
  read_plt(*file, table, with_plt, made_names);
  with_plt.settle();
  table = std::move(with_plt);
}

const Function* ImageSymbols::State::function(uint32_t number) {
  const auto [at, fresh] = functions.try_emplace(number);
  if (fresh) {
    const Symbol& symbol = table.symbols()[number];
    at->second = {symbol.begin, symbol.end, demangled(symbol.name)};
  }
  return &at->second;
}

SourceLines& ImageSymbols::State::source_lines() {
  if (!lines) {
    lines.emplace(*file);
    if (!lines->available() && debug) lines.emplace(*debug);
  }
  return *lines;
}

template <typename Found>
Found ImageSymbols::State::in_lines(uint64_t offset, Found (SourceLines::*find)(uint64_t address)) {
  if (!file) return {};
  const auto address = file->address_of(offset);
  const std::lock_guard guard(lock);
  return address ? (source_lines().*find)(*address) : Found{};
}

ImageSymbols::ImageSymbols() : state_(std::make_unique<State>()) {}
ImageSymbols::~ImageSymbols() = default;

std::unique_ptr<ImageSymbols> ImageSymbols::load(const std::string& path, const Image& image) {
  std::unique_ptr<ImageSymbols> symbols(new ImageSymbols());
  symbols->state_->read_file(path, image);
  return symbols;
}

FunctionExtent ImageSymbols::extent(uint64_t offset) const {
  const SymbolTable::Extent found = state_->table.find(offset);
  if (found.symbol == kNoSymbol) return {nullptr, found.begin, found.end};
  const std::lock_guard guard(state_->lock);
  return {state_->function(found.symbol), found.begin, found.end};
}

std::optional<SourceLine> ImageSymbols::line(uint64_t offset) const {
  return state_->in_lines(offset, &SourceLines::find);
}

std::optional<SourceLine> ImageSymbols::own_line(uint64_t offset) const {
  return state_->in_lines(offset, &SourceLines::find_own);
}

std::vector<SourceFrame> ImageSymbols::frames(uint64_t offset) const {
  std::vector<SourceFrame> frames = state_->in_lines(offset, &SourceLines::frames);
  const Function* around = frames.empty() ? nullptr : function(offset);
  if (around != nullptr) frames.back().function = around->name;
  return frames;
}

std::vector<uint64_t> ImageSymbols::offsets_of_line(std::string_view file, uint32_t line) const {
  std::vector<uint64_t> offsets;
  if (!state_->file) return offsets;
  const std::lock_guard guard(state_->lock);
  uint32_t last = kNoSymbol;
  for (const uint64_t address : state_->source_lines().addresses(file, line)) {
    const auto offset = state_->file->offset_of(address);
    const uint32_t symbol = offset ? state_->table.find(*offset).symbol : kNoSymbol;
    if (!offset || (symbol != kNoSymbol && symbol == last)) continue;
    offsets.push_back(*offset);
    last = symbol;
  }
  return offsets;
}

bool ImageSymbols::names_source(std::string_view file) const {
  if (!state_->file) return false;
  const std::lock_guard guard(state_->lock);
  return state_->source_lines().names(file);
}

std::vector<const Function*> ImageSymbols::named(std::string_view name) const {
  std::vector<const Function*> found;
  const auto& symbols = state_->table.symbols();
  const std::lock_guard guard(state_->lock);
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    const bool meant = symbols[i].name == name || means_function(name, demangled(symbols[i].name));
    if (meant) found.push_back(state_->function(i));
  }
  return found;
}

std::vector<std::string> ImageSymbols::some_names(size_t most) const {
  std::vector<std::string> names;
  for (const Symbol& symbol : state_->table.symbols()) {
    if (names.size() >= most) break;
    names.push_back(demangled(symbol.name));
  }
  return names;
}

const std::string& ImageSymbols::problem() const {
  return state_->problem;
}

}  // namespace fathom::snapshot
