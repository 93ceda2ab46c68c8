// A line of a configuration file as other formats have it, read for what was meant: `data: /x`, `"data": "/x",`,
// `export data=/x`, `data = "/x"`.
//
// Thread safety: pure functions. Errors: none; whatever the line is, it has a key, which may be nobody's.
#pragma once

#include <string>
#include <string_view>

namespace fathom::cli {

struct MeantLine {
  std::string key;
  std::string value;  // empty: none was there
};
MeantLine meant_by(std::string_view line);

// Without the quotes around all of it.
std::string_view unquoted(std::string_view value);

// `[server]`, `[[a.b]]`
bool is_section(std::string_view line);
// `; text` and `// text`: the text. Empty: it is no comment of another format's.
std::string_view other_comment(std::string_view line);

// "yes" and "no" for words that mean it, "true" and "off"; others as they are.
std::string switch_word(std::string_view word);

}  // namespace fathom::cli
