// The vDSO of the running kernel, which no file has: code of a recording made under the same kernel is the same.
//
// Thread safety: any. Errors: nothing where there is none, or it is not what it should be.
#pragma once

#include <optional>
#include <string>

namespace fathom::snapshot {

struct OwnVdso {
  std::string bytes;
  std::string build_id;
};

std::optional<OwnVdso> own_vdso();

}  // namespace fathom::snapshot
