#include "snapshot/analyze/source_notes.h"

#include "base/text.h"
#include "snapshot/analyze/code_labels.h"

namespace fathom::snapshot {

namespace {

constexpr size_t kMostTexts = 50'000;
constexpr size_t kMostMissing = 1000;
constexpr size_t kTextColumns = 110;
constexpr size_t kIndent = 16;  // below the addresses

std::string_view without_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool is_same(const SourceLine& a, const SourceLine& b) {
  return a.line == b.line && a.file == b.file;
}

}  // namespace

// With no wish for the functions: the line of the one around all, and the instruction's own.
std::vector<SourceFrame> SourceNotes::shown_frames(int32_t pid, uint64_t tsc, uint64_t address) const {
  std::vector<SourceFrame> frames = names_.frames(pid, tsc, address);
  if (inlines_ || frames.size() < 2) return frames;
  frames.erase(frames.begin() + 1, frames.end() - 1);
  if (is_same(frames.front().at, frames.back().at)) frames.pop_back();
  return frames;
}

std::string SourceNotes::above(int32_t pid, uint64_t tsc, uint64_t address) {
  if (!inlines_ && !wanted_) return "";
  const std::vector<SourceFrame> frames = shown_frames(pid, tsc, address);
  std::string out;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const std::string source = text(frame->at);
    const bool says_more = !source.empty() || (inlines_ && frames.size() > 1);
    if (!says_more) continue;
    out.append(kIndent, ' ').append(frame->at.line == 0 ? "(line not known)" : short_line(frame->at));
    if (inlines_ && frames.size() > 1) out += " in " + short_function_name(frame->function);
    if (!source.empty()) out += ": " + cut_to_width(source, kTextColumns);
    out += "\n";
  }
  return out;
}

void SourceNotes::write(net::JsonWriter& json, int32_t pid, uint64_t tsc, uint64_t address) {
  if (!inlines_ && !wanted_) return;
  const std::vector<SourceFrame> frames = names_.frames(pid, tsc, address);
  if (frames.empty()) return;
  const auto write_source = [&](const SourceLine& line) {
    if (const std::string source = text(line); !source.empty()) json.member("source", std::string_view(source));
  };
  write_source(frames.front().at);
  if (!inlines_ || frames.size() < 2) return;
  json.key("inlined").begin_array();
  for (const SourceFrame& frame : frames) {
    json.begin_object().member("function", std::string_view(frame.function));
    if (frame.at.line != 0) json.member("file", std::string_view(frame.at.file)).member("line", frame.at.line);
    write_source(frame.at);
    json.end_object();
  }
  json.end_array();
}

std::string SourceNotes::text(const SourceLine& line) {
  if (!wanted_ || line.line == 0) return "";
  if (texts_.size() > kMostTexts) texts_.clear();
  const auto [at, fresh] = texts_.try_emplace({line.file, line.line});
  if (!fresh) return at->second;
  auto found = files_.text(line.file, line.line, 0);
  if (found) {
    any_found_ = true;
    at->second = printable(without_blanks(found->lines.front()));
  } else if (missing_.size() < kMostMissing) {
    missing_.insert(line.file);
  }
  return at->second;
}

std::string SourceNotes::missing_text() const {
  if (missing_.empty()) return "";
  const std::string others = missing_.size() == 1 ? "" : " and of " + group_digits(missing_.size() - 1) + " others";
  const std::string cure = any_found_ ? "" : "; --source-dir FROM=TO looks for what begins with FROM below TO";
  return "source: no text of " + printable(*missing_.begin()) + others + " is here as it was compiled" + cure + "\n";
}

}  // namespace fathom::snapshot
