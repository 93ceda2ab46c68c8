// What a process says of itself in the resource of its spans, for whoever has to tell processes with one id apart.
//
// Purpose: a process id alone is that of a process on every host, and 1 that of one in every container. Rules: two
// contradict where both say something of the same kind, and not the same. Thread safety: plain values. Ownership: owns
// its texts.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/span.h"

namespace fathom::query {

struct ProcessIdentity {
  std::map<std::string_view, std::string> said;  // by the attribute's key; nothing that is empty

  // The base name of its executable; empty where it does not say.
  std::string executable() const;
};

ProcessIdentity identity_of(const store::StoredSpan& stored);

bool contradict(const ProcessIdentity& a, const ProcessIdentity& b);
// Whether they say the same of what only one process, or one container, has.
bool same_instance(const ProcessIdentity& a, const ProcessIdentity& b);
// Whether it may be one that has these files in its memory, by base name; no files: nothing is known of them. The name
// of a link to one is taken for it where one of the two begins with the other (python3, python3.11).
bool may_run(const ProcessIdentity& identity, const std::vector<std::string>& programs);

}  // namespace fathom::query
