// What this program is: the attributes that name it to whoever looks at its spans.
//
// Purpose: gathers them from the environment and from fathom_set_resource(), in the form of area 3 of a pool. Thread
// safety: gather_resource() once, when the library is loaded; set_resource() from one thread, once; reading from
// anywhere. Ownership: static memory, never freed. Errors: what does not fit is dropped and counted.
#pragma once

#include <string_view>

#include "client/platform.h"
#include "client/pool/layout.h"

namespace fathom::client {

// Records as area 3 has them; a key that is put again has its latest value.
class ResourceText {
 public:
  bool put(std::string_view key, std::string_view value);
  // "key=value,key=value", the values percent-encoded: what OTEL_RESOURCE_ATTRIBUTES holds.
  void put_list(std::string_view list);

  std::string_view bytes() const { return {bytes_, size_}; }
  uint32_t dropped() const { return dropped_; }
  // The next record from `at` on; false at the end.
  bool next(size_t& at, std::string_view& key, std::string_view& value) const;

 private:
  void remove(std::string_view key);

  // No initialisers: in static memory it must be ready before any constructor runs.
  uint32_t size_;
  uint32_t dropped_;
  char bytes_[pool::kResourceBytes];
};

void gather_resource();
// False when it was called before.
bool set_resource(std::string_view list);
// The latest edition; `edition` counts them from 1.
const ResourceText& current_resource(uint32_t& edition);

// Into area 3 of a pool, with this process's pid; gives way when somebody else is at it, who then writes the same.
void write_resource(pool::Header& header, char* area);

}  // namespace fathom::client
