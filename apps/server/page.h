// The page's files, from where a person or the build has put them.
//
// Thread safety: plain functions. Errors: a directory that was named must be the page's; without a name there may be
// none.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "query/page_files.h"

namespace fathom {

// Of `directory`; of ../share/fathom/page beside this program when it is empty, null when that is not there.
Result<std::shared_ptr<const query::PageFiles>> read_page(const std::string& directory);

}  // namespace fathom
