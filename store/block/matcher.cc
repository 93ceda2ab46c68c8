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

// Texts of values, numbered as they are met.
class TextNumbers {
 public:
  uint32_t of(const ValueView& value) {
    auto [at, is_new] = numbers_.try_emplace(value_text(value), static_cast<uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(&at->first);
    return at->second;
  }
  // Rows per text, from pairs of row and text number.
  std::vector<ValueRows> count(std::vector<std::pair<uint32_t, uint32_t>> pairs) const {
    sort_unique(pairs);
    std::vector<ValueRows> counts;
    for (const std::string* text : texts_) counts.push_back({*text, 0});
    for (auto [row, number] : pairs) ++counts[number].rows;
    std::erase_if(counts, [](const ValueRows& value) { return value.rows == 0; });
    return counts;
  }

 private:
  std::map<std::string, uint32_t> numbers_;
  std::vector<const std::string*> texts_;
};

}  // namespace

struct Matcher::Column {
  LoadedChunk chunk;
  ByteReader in{{}};
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
  out.in = ByteReader(out.chunk.body);
  if (!out.reader.read(out.in)) return damaged("column");
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
  if (!column.reader.read_codes(column.in, codes)) return damaged("column");
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

Result<std::vector<ValueRows>> Matcher::value_counts(std::string_view key) {
  TextNumbers texts;
  std::vector<std::pair<uint32_t, uint32_t>> pairs;  // row, text number
  Column column;
  Result<bool> opened = possible(key, &Key::on_spans) ? open_column(key, column) : Result<bool>(false);
  if (!opened) return opened.error();
  if (*opened) {
    Arena arena;
    std::vector<uint32_t> codes, numbers(column.reader.values().size(), kNone);
    if (!column.reader.read_codes(column.in, codes)) return damaged("column");
    std::vector<ValueView> values = column.reader.values().views(arena);
    Result<const DecodedShapes*> shapes = cache_.shapes();
    if (!shapes) return shapes.error();
    auto each = [&](uint32_t row, uint32_t entry, uint32_t member) {
      if (column.rest_key != kNone && column.rest_key != member) return;
      uint32_t& number = numbers[codes[entry]];
      if (number == kNone) number = texts.of(values[codes[entry]]);
      pairs.emplace_back(row, number);
    };
    if (!(*shapes)->walk((*shapes)->in_column(column.number), column.reader.entries(), each)) return damaged("column");
  }
  if (possible(key, &Key::on_resources)) {
    std::unordered_multimap<uint32_t, uint32_t> by_record;
    Result<> read = each_record_value(
        key, [&](uint32_t record, const ValueView& value) { by_record.emplace(record, texts.of(value)); });
    if (!read) return read.error();
    Result<const std::vector<uint32_t>*> resources = cache_.resources();
    if (!resources) return resources.error();
    for (uint32_t row = 0; row < (*resources)->size(); ++row) {
      auto [begin, end] = by_record.equal_range((**resources)[row]);
      for (auto at = begin; at != end; ++at) pairs.emplace_back(row, at->second);
    }
  }
  return texts.count(std::move(pairs));
}

}  // namespace fathom::store::block
