#include "snapshot/analyze/code_labels.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace fathom::snapshot {
namespace {

constexpr std::string_view kOperator = "operator";
// What looks like a bracket, and is none.
constexpr std::array<std::string_view, 2> kWords{"(anonymous namespace)", "->"};

bool ends_word(std::string_view text) {
  const size_t before = text.size() - kOperator.size();
  return text.ends_with(kOperator) && (before == 0 || text[before - 1] == ':' || text[before - 1] == ' ');
}

// How many characters at the beginning of `rest` are to be taken as they are.
size_t literal(std::string_view taken, std::string_view rest) {
  for (std::string_view word : kWords) {
    if (rest.starts_with(word)) return word.size();
  }
  if (!ends_word(taken)) return 0;
  for (std::string_view name : {"<=>", "<<=", ">>=", "->*", "()", "<<", ">>", "<=", ">=", "->", "<", ">"}) {
    if (rest.starts_with(name)) return name.size();
  }
  return 0;
}

// What lies between the outermost brackets becomes "...".
std::string folded(std::string_view name, char open, char close) {
  std::string text;
  size_t depth = 0;
  for (size_t i = 0; i < name.size();) {
    const size_t same = literal(name.substr(0, i), name.substr(i));
    const size_t step = same != 0 ? same : 1;
    if (same == 0 && name[i] == close && depth > 0) --depth;
    if (depth == 0) text += name.substr(i, step);
    if (same == 0 && name[i] == open && depth++ == 0)
      text += name[i + 1 < name.size() ? i + 1 : i] == close ? "" : "...";
    i += step;
  }
  return text;
}

// Headers of libraries and compilers; clang writes "/usr/bin/../lib/gcc/...". /usr/local and /usr/src may be user code.
bool is_of_system(std::string_view file) {
  return file.starts_with("/usr/") && !file.starts_with("/usr/local/") && !file.starts_with("/usr/src/");
}

}  // namespace

std::string short_function_name(std::string_view name, size_t columns) {
  std::string text = printable(name);
  if (display_width(text) > columns) text = folded(text, '<', '>');
  if (display_width(text) > columns) text = folded(text, '(', ')');
  return cut_to_width(text, columns);
}

const SourceFrame* innermost_own_inlined(std::span<const SourceFrame> frames) {
  if (frames.size() < 2) return nullptr;
  const auto inlined = frames.first(frames.size() - 1);
  const auto found = std::ranges::find_if(
      inlined, [](const SourceFrame& frame) { return frame.at.line != 0 && !is_of_system(frame.at.file); });
  return found == inlined.end() ? nullptr : &*found;
}

std::string short_line(const SourceLine& line) {
  std::string_view path = line.file;
  size_t slash = path.rfind('/');
  if (slash != std::string_view::npos && slash > 0) slash = path.rfind('/', slash - 1);
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  return printable(path) + ":" + std::to_string(line.line);
}

}  // namespace fathom::snapshot
