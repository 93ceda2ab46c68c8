// Texts that spell bytes (canonical lower-case UUIDs, lower-case hex of even length) and are stored as those bytes.
//
// Thread safety: functions. Exactness: a form is used only when spell(pack(text)) == text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fathom::store::block {

enum class TextForm : uint8_t { kPlain = 0, kUuid = 1, kHex = 2 };

bool has_form(std::string_view text, TextForm form);
void pack_text(std::string_view text, TextForm form, std::string& out);
std::string spell_text(std::string_view stored, TextForm form);

}  // namespace fathom::store::block
