// SourceNotes: the text of source lines, and the functions that were inlined, beside what answers say of code.
//
// Purpose: one wording for tables and JSON; lines are read once. Thread safety: none. Ownership: keeps references to
// the names. Units: columns of a terminal in tables; JSON has texts in full. Errors: none; text that is not here is
// left out, and missing_text() says so once.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "net/json_writer.h"
#include "snapshot/analyze/question.h"
#include "snapshot/decode/code_names.h"

namespace fathom::snapshot {

class SourceNotes {
 public:
  SourceNotes(const CodeNames& names, const Question& question)
      : names_(names),
        inlines_(question.inlines),
        wanted_(!question.source_directories.empty()),
        directories_(question.source_directories),
        files_(question.source_directories) {}

  // What stands above an instruction: a line per function, outermost first; "" where its own row says it all.
  std::string above(int32_t pid, uint64_t tsc, uint64_t address);
  // The members "source" and "inlined" of an object that is open, where there are any.
  void write(net::JsonWriter& json, int32_t pid, uint64_t tsc, uint64_t address);
  // Without the blanks around it, and harmless; "" where none is wanted, or it is not here.
  std::string text(const SourceLine& line);
  // A line of its own: of what there was no text, where it was looked for, and the cure; "" where nothing was missing.
  std::string missing_text() const;

 private:
  std::vector<SourceFrame> shown_frames(int32_t pid, uint64_t tsc, uint64_t address) const;

  const CodeNames& names_;
  const bool inlines_;
  const bool wanted_;
  const std::vector<SourceDirectory> directories_;
  const SourceFiles files_;
  std::map<std::pair<std::string, uint32_t>, std::string> texts_;
  std::map<std::string, uint64_t> missing_;  // files, and how many lines of them
};

}  // namespace fathom::snapshot
