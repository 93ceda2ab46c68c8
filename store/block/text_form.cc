#include "store/block/text_form.h"

#include <algorithm>

#include "base/ids.h"

namespace fathom::store::block {

namespace {

constexpr size_t kUuidSize = 36;

bool is_hex_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}
bool is_dash_place(size_t at) {
  return at == 8 || at == 13 || at == 18 || at == 23;
}

int digit(char c) {
  return c <= '9' ? c - '0' : c - 'a' + 10;
}

bool is_uuid(std::string_view text) {
  if (text.size() != kUuidSize) return false;
  for (size_t i = 0; i < kUuidSize; ++i) {
    if (is_dash_place(i) ? text[i] != '-' : !is_hex_digit(text[i])) return false;
  }
  return true;
}

}  // namespace

bool has_form(std::string_view text, TextForm form) {
  if (form == TextForm::kUuid) return is_uuid(text);
  if (form == TextForm::kHex) return text.size() % 2 == 0 && std::all_of(text.begin(), text.end(), is_hex_digit);
  return true;
}

void pack_text(std::string_view text, TextForm form, std::string& out) {
  if (form == TextForm::kPlain) {
    out.append(text);
    return;
  }
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '-') {
      ++i;
      continue;
    }
    out.push_back(static_cast<char>(digit(text[i]) << 4 | digit(text[i + 1])));
    i += 2;
  }
}

std::string spell_text(std::string_view stored, TextForm form) {
  if (form == TextForm::kPlain) return std::string(stored);
  std::string text = to_hex(stored);
  if (form == TextForm::kUuid) {
    for (size_t at : {8, 13, 18, 23}) text.insert(at, 1, '-');
  }
  return text;
}

}  // namespace fathom::store::block
