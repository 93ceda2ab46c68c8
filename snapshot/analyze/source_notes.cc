#include "snapshot/analyze/source_notes.h"

#include <algorithm>

#include "base/text.h"
#include "base/trim.h"
#include "snapshot/analyze/code_labels.h"

namespace fathom::snapshot {

namespace {

constexpr size_t kMostTexts = 50'000;
constexpr size_t kMostMissing = 1000;
constexpr size_t kSourceNoteColumns = 110;
constexpr size_t kIndent = 16;  // below the addresses

// "for its own name, and below /srv for /build/src"
std::string looked_text(const std::vector<SourceDirectory>& directories) {
  std::string text;
  for (const SourceDirectory& one : directories) {
    const bool own = one.from == one.to;
    const std::string what = own && one.to == "/" ? "where its name says"
                             : own                ? "below " + one.to
                                                  : "below " + one.to + " for " + one.from;
    text += (text.empty() ? "" : ", and ") + what;
  }
  return text;
}

// As --source-dir takes it: '.' stands before all names that are relative.
std::string directory_of(const std::string& file) {
  return file.starts_with('/') ? file.substr(0, std::max<size_t>(file.rfind('/'), 1)) : ".";
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
    if (!source.empty()) out += ": " + cut_to_width(source, kSourceNoteColumns);
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
    at->second = printable(trimmed(found->lines.front()));
  } else if (missing_.size() < kMostMissing || missing_.contains(line.file)) {
    ++missing_[line.file];
  }
  return at->second;
}

// Of the file that would have said most; those of distributions' libraries are mostly relative.
std::string SourceNotes::missing_text() const {
  if (missing_.empty()) return "";
  const auto weight = [](const auto& one) { return std::pair(one.first.starts_with('/'), one.second); };
  const std::string& file = std::ranges::max_element(missing_, {}, weight)->first;
  const size_t others = missing_.size() - 1;
  const std::string and_of =
      others == 0 ? "" : " and of " + group_digits(others) + (others == 1 ? " other" : " others");
  return printable("source: no text of " + file + and_of + " is here as it was compiled; looked " +
                   looked_text(directories_) + "; --source-dir " + directory_of(file) + "=DIR reads it below DIR") +
         "\n";
}

}  // namespace fathom::snapshot
