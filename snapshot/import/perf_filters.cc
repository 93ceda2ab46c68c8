#include "snapshot/import/perf_filters.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "snapshot/format/address_filter.h"

namespace fathom::snapshot::perf {
namespace {

constexpr std::string_view kBetweenWords = " ,\t\n";
constexpr size_t kMostFileBytes = 4096;

std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBetweenWords), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBetweenWords));
  text.remove_prefix(word.size());
  return word;
}

// "0x1f" or "31"; goes behind it.
std::optional<uint64_t> number_in(std::string_view& text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (failed != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

// "0x1000/0x40@/bin/shop", or without a file.
std::optional<Sideband> range_in(std::string_view word, bool stops) {
  const auto offset = number_in(word);
  if (!offset || !word.starts_with('/')) return std::nullopt;
  word.remove_prefix(1);
  const auto bytes = number_in(word);
  if (!bytes || *bytes == 0 || *bytes - 1 > UINT64_MAX - *offset) return std::nullopt;
  if (word.empty()) return address_filter_row("", *offset, *bytes, stops);
  if (!word.starts_with('@') || word.size() == 1 || word.size() > kMostFileBytes) return std::nullopt;
  return address_filter_row(std::string(word.substr(1)), *offset, *bytes, stops);
}

}  // namespace

AddressFilters parse_address_filters(std::string_view text) {
  AddressFilters filters;
  for (std::string_view action = next_word(text); !action.empty(); action = next_word(text)) {
    const bool stops = action == "stop" || action == "tracestop";
    const bool known = stops || action == "filter";
    const auto row = range_in(next_word(text), stops);
    if (known && row && filters.rows.size() < kMostAddressFilters)
      filters.rows.push_back(*row);
    else
      ++filters.not_understood;
  }
  return filters;
}

}  // namespace fathom::snapshot::perf
