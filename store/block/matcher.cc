#include "store/block/matcher.h"

#include <algorithm>
#include <unordered_map>

#include "store/block/columns.h"

namespace fathom::store::block {

namespace {

bool spells(const ValueView& value, std::string_view text) {
  bool plain = value.is_text() && value.type != ValueType::kBytes;
  return plain ? value.text == text : value_text(value) == text;
}

// Which codes are wanted, as a table.
std::vector<uint8_t> marks(const std::vector<uint32_t>& codes, uint32_t size) {
  std::vector<uint8_t> marked(size, 0);
  for (uint32_t code : codes) marked[code] = 1;
  return marked;
}

std::vector<uint32_t> marked_positions(const std::vector<uint32_t>& codes, const std::vector<uint8_t>& marked) {
  std::vector<uint32_t> positions;
  for (uint32_t i = 0; i < codes.size(); ++i) {
    if (marked[codes[i]]) positions.push_back(i);
  }
  return positions;
}

// Every row has exactly one entry: then entries are rows.
bool one_each(const DecodedShapes::ColumnKeys& column, uint32_t entries, size_t rows) {
  return entries == rows &&
         std::all_of(column.begin(), column.end(), [](const auto& keys) { return keys.size() == 1; });
}

void sort_unique(auto& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

constexpr uint64_t kRecordBytes = 48;  // of a record with a value, in a hash map

}  // namespace

// Texts of values, numbered as they are met, and the rows that have each. What is kept is charged first.
class Matcher::TextCounts {
 public:
  explicit TextCounts(HeldMemory& memory) : memory_(memory) {}

  Result<uint32_t> number_of(const ValueView& value) {
    // A text is kept twice, bytes as base64.
    if (Result<> held = memory_.grow(3 * value.text.size() + kTextBytes); !held) return held.error();
    auto [at, is_new] = numbers_.try_emplace(value_text(value), static_cast<uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(&at->first);
    return at->second;
  }
  Result<> add(uint32_t row, uint32_t number) {
    if (pairs_.size() == pairs_.capacity()) {
      const size_t wanted = std::max<size_t>(2 * pairs_.size(), kFewestPairs);
      if (Result<> held = memory_.grow(wanted * sizeof(pairs_[0])); !held) return held;
      pairs_.reserve(wanted);
    }
    pairs_.emplace_back(row, number);
    return {};
  }
  // Rows per text: a row counts once, however often it has the text.
  std::vector<ValueRows> counts() {
    sort_unique(pairs_);
    std::vector<ValueRows> counts;
    counts.reserve(texts_.size());
    for (const std::string* text : texts_) counts.push_back({*text, 0});
    for (auto [row, number] : pairs_) ++counts[number].rows;
    std::erase_if(counts, [](const ValueRows& value) { return value.rows == 0; });
    return counts;
  }

 private:
  static constexpr uint64_t kTextBytes = 256;  // beside its characters: in a map, a list, and an answer
  static constexpr size_t kFewestPairs = 1024;

  HeldMemory& memory_;
  std::map<std::string, uint32_t> numbers_;
  std::vector<const std::string*> texts_;
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;  // row, text number
};

struct Matcher::Column {
  LoadedChunk chunk;
  ChunkReader in{std::string_view()};
  ColumnReader reader;
  uint32_t number = kNone;
  uint32_t rest_key = kNone;  // when it is the rest: the key that is meant
};

const Matcher::Key* Matcher::find_key(std::string_view key) const {
  auto at = cache_.parts().by_name.find(key);
  return at == cache_.parts().by_name.end() ? nullptr : at->second;
}

// Of a key that is not listed, nothing can be ruled out.
bool Matcher::possible(std::string_view key, bool Key::*where) const {
  const Key* found = find_key(key);
  return found != nullptr ? found->*where : cache_.parts().unlisted_keys > 0;
}

bool Matcher::own_column(const Key* key) const {
  const std::vector<uint32_t>& columns = cache_.zone().columns;
  return key != nullptr && key->number > 0 && std::binary_search(columns.begin(), columns.end(), key->number - 1);
}

// False: the block has no attribute of that key.
Result<bool> Matcher::open_column(std::string_view key, Column& out) {
  const Key* found = find_key(key);
  if (own_column(found)) {
    out.number = found->number - 1;
  } else {
    if (!cache_.zone().rest) return false;
    Result<const DecodedShapes*> shapes = cache_.shapes();
    if (!shapes) return shapes.error();
    out.rest_key = (*shapes)->rest_key(key);
    if (out.rest_key == kNone) return false;
  }
  Result<LoadedChunk> chunk = cache_.load(out.number == kNone ? kRestColumn : kFirstKeyColumn + out.number);
  if (!chunk) return chunk.error();
  out.chunk = std::move(*chunk);
  HeldMemory& memory = cache_.call_memory();
  out.in = ChunkReader({out.chunk.body, &memory});
  if (!out.reader.read(out.in) || !out.in.take(out.reader.values().view_bytes())) return decode_error(memory, "column");
  return true;
}

Result<std::vector<uint32_t>> Matcher::match(std::string_view key, std::string_view text) {
  Result<FilterHalves> may_contain = cache_.may_contain(key, text);
  if (!may_contain) return may_contain.error();
  if (!may_contain->any()) return std::vector<uint32_t>();
  return match_either(
      key, {std::string(text), false}, [text](const ValueTable& values) { return values.find(text); },
      [text](const ValueView& value) { return spells(value, text); });
}

Result<std::vector<uint32_t>> Matcher::match_if(std::string_view key, const ValueTest& test) {
  const auto find = [&test](const ValueTable& values) {
    Arena arena;
    const std::vector<ValueView> views = values.views(arena);
    std::vector<uint32_t> found;
    for (uint32_t i = 0; i < views.size(); ++i) {
      if (test.passes(views[i])) found.push_back(i);
    }
    return found;
  };
  return match_either(key, {test.name, true}, find, test.passes);
}

template <typename Find, typename Passes>
Result<std::vector<uint32_t>> Matcher::match_either(std::string_view key, const Question& question, Find find,
                                                    Passes passes) {
  Result<std::vector<uint32_t>> spans = match_spans(key, find);
  if (!spans) return spans;
  Result<std::vector<uint32_t>> resources = match_resources(key, question, passes);
  if (!resources || spans->empty()) return resources;
  spans->insert(spans->end(), resources->begin(), resources->end());
  sort_unique(*spans);
  return spans;
}

template <typename Find>
Result<std::vector<uint32_t>> Matcher::match_spans(std::string_view key, Find find) {
  std::vector<uint32_t> rows, codes;
  if (!possible(key, &Key::on_spans)) return rows;
  Column column;
  Result<bool> opened = open_column(key, column);
  if (!opened) return opened.error();
  if (!*opened) return rows;
  std::vector<uint32_t> found = find(column.reader.values());
  if (found.empty()) return rows;
  HeldMemory& memory = cache_.call_memory();
  // The codes, then the entries and rows that match.
  const bool read = column.reader.read_codes(column.in, codes) && column.in.take_array<uint32_t>(2 * codes.size());
  if (!read) return decode_error(memory, "column");
  std::vector<uint32_t> entries = marked_positions(codes, marks(found, column.reader.values().size()));
  Result<const DecodedShapes*> shapes = cache_.shapes();
  if (!shapes) return shapes.error();
  DecodedShapes::ColumnKeys members = (*shapes)->in_column(column.number);
  if (one_each(members, column.reader.entries(), cache_.zone().rows) && column.number != kNone) return entries;
  auto next = entries.begin();
  bool whole = (*shapes)->walk(members, column.reader.entries(), [&](uint32_t row, uint32_t entry, uint32_t member) {
    if (next == entries.end() || *next != entry) return;
    ++next;
    if (column.rest_key == kNone || column.rest_key == member) rows.push_back(row);
  });
  if (!whole) return damaged("column");
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

// Calls `each(record number, value)` for every value of the key in any shared record.
template <typename Each>
Result<> Matcher::each_record_value(std::string_view key, Each each) {
  uint32_t number = 0;
  for (uint32_t p = 0; p < cache_.parts().page_first.size(); ++p) {
    Result<std::shared_ptr<const SharedPage>> page = cache_.page(p);
    if (!page) return page.error();
    for (uint32_t i = 0; i < (*page)->size(); ++i, ++number) {
      for (const AttributeView& attribute : (*page)->record(i).attributes) {
        if (attribute.key == key) each(number, attribute.value);
      }
    }
  }
  return {};
}

template <typename Passes>
Result<const std::vector<uint8_t>*> Matcher::matching_records(std::string_view key, const Question& question,
                                                              Passes passes) {
  auto [at, is_new] = records_.try_emplace({std::string(key), question});
  if (is_new) {
    at->second.assign(cache_.parts().shared_records, 0);
    Result<> read = each_record_value(key, [&](uint32_t record, const ValueView& value) {
      if (passes(value)) at->second[record] = 1;
    });
    if (!read) {
      records_.erase(at);
      return read.error();
    }
  }
  return &at->second;
}

template <typename Passes>
Result<std::vector<uint32_t>> Matcher::match_resources(std::string_view key, const Question& question, Passes passes) {
  if (!possible(key, &Key::on_resources)) return std::vector<uint32_t>();
  Result<const std::vector<uint8_t>*> matching = matching_records(key, question, passes);
  if (!matching) return matching.error();
  const std::vector<uint8_t>& marked = **matching;
  if (std::find(marked.begin(), marked.end(), 1) == marked.end()) return std::vector<uint32_t>();
  Result<const std::vector<uint32_t>*> resources = cache_.resources();
  if (!resources) return resources.error();
  return marked_positions(**resources, marked);
}

// Calls `each(row, value)` for every value that a span of the block has under the key itself.
template <typename Each>
Result<> Matcher::each_span_value(std::string_view key, Each each) {
  Column column;
  Result<bool> opened = possible(key, &Key::on_spans) ? open_column(key, column) : Result<bool>(false);
  if (!opened) return opened.error();
  if (!*opened) return {};
  Arena arena;
  std::vector<uint32_t> codes;
  HeldMemory& memory = cache_.call_memory();
  if (!column.reader.read_codes(column.in, codes)) return decode_error(memory, "column");
  const std::vector<ValueView> values = column.reader.values().views(arena);
  Result<const DecodedShapes*> shapes = cache_.shapes();
  if (!shapes) return shapes.error();
  Result<> counted;
  const auto visit = [&](uint32_t row, uint32_t entry, uint32_t member) {
    if (column.rest_key != kNone && column.rest_key != member) return;
    if (counted) counted = each(row, codes[entry], values[codes[entry]]);
  };
  const bool whole = (*shapes)->walk((*shapes)->in_column(column.number), column.reader.entries(), visit);
  return whole ? counted : Result<>(damaged("column"));
}

Result<std::vector<ValueRows>> Matcher::value_counts(std::string_view key) {
  TextCounts texts(cache_.call_memory());
  std::unordered_map<uint32_t, uint32_t> number_of_code;
  Result<> read = each_span_value(key, [&](uint32_t row, uint32_t code, const ValueView& value) -> Result<> {
    auto [number, is_new] = number_of_code.try_emplace(code, 0);
    if (is_new) {
      Result<uint32_t> named = texts.number_of(value);
      if (!named) return named.error();
      number->second = *named;
    }
    return texts.add(row, number->second);
  });
  if (read) read = count_record_values(key, texts);
  if (!read) return read.error();
  return texts.counts();
}

Result<> Matcher::count_record_values(std::string_view key, TextCounts& texts) {
  if (!possible(key, &Key::on_resources)) return {};
  std::unordered_multimap<uint32_t, uint32_t> by_record;
  Result<> counted;
  Result<> read = each_record_value(key, [&](uint32_t record, const ValueView& value) {
    if (!counted) return;
    Result<uint32_t> number = texts.number_of(value);
    counted = number ? cache_.call_memory().grow(kRecordBytes) : Result<>(number.error());
    if (counted) by_record.emplace(record, *number);
  });
  if (!read || !counted) return read ? counted : read;
  Result<const std::vector<uint32_t>*> resources = cache_.resources();
  if (!resources) return resources.error();
  for (uint32_t row = 0; row < (*resources)->size(); ++row) {
    auto [begin, end] = by_record.equal_range((**resources)[row]);
    for (auto at = begin; counted && at != end; ++at) counted = texts.add(row, at->second);
  }
  return counted;
}

}  // namespace fathom::store::block
