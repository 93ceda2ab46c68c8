#include "snapshot/view/function_list.h"

#include "snapshot/analyze/code_extents.h"

namespace fathom::snapshot {

size_t FunctionList::number(const CallFunction& function) {
  const auto [at, fresh] = calls_.try_emplace(&function, 0);
  if (!fresh) return at->second;
  const uint64_t begin = function.symbol || function.entry == 0 ? function.begin : function.entry;
  const CodePlace place = names_.find(function.pid, function.tsc, begin);
  return at->second = add(function_name(names_, function), place, function.pid, function.tsc);
}

size_t FunctionList::number(const CodePlace& place, int32_t pid, uint64_t tsc) {
  if (place.function != nullptr) return add(place_name(place, place.begin), place, pid, tsc);
  CallFunction stretch;
  stretch.begin = place.begin;
  stretch.pid = pid;
  stretch.tsc = tsc;
  return add(function_name(names_, stretch), place, pid, tsc);
}

size_t FunctionList::add(std::string name, const CodePlace& place, int32_t pid, uint64_t tsc) {
  Row row;
  if (place.image != nullptr) row.image = place.image->name;
  const auto [at, fresh] = numbers_.try_emplace(name + '\0' + row.image, rows_.size());
  if (!fresh) return at->second;
  row.name = std::move(name);
  const auto source = place.function == nullptr ? std::nullopt : names_.own_line(pid, tsc, place.begin);
  if (source && source->line > 0) {
    row.file = source->file;
    row.line = source->line;
  }
  rows_.push_back(std::move(row));
  return at->second;
}

void FunctionList::write(net::JsonWriter& json) const {
  json.key("functions").begin_array();
  for (const Row& row : rows_) {
    json.begin_object().member("name", std::string_view(row.name));
    if (!row.image.empty()) json.member("image", std::string_view(row.image));
    if (row.line > 0) json.member("file", std::string_view(row.file)).member("line", row.line);
    json.end_object();
  }
  json.end_array();
}

}  // namespace fathom::snapshot
