// The spool's dealings with the file system: names, reads and writes that are whole, and the search for entries.
//
// Thread safety: plain functions. Errors: a read that fails gives nothing, one beyond the end what is there; a write
// that is not whole is false; errno says why.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"

namespace fathom::agent {

std::string spool_file_name(uint64_t number);
// Of "00000000000000a3.spool"; nothing for any other name.
std::optional<uint64_t> spool_file_number(const std::string& name);

// As much of `size` bytes at `offset` as there is; nothing when they cannot be read.
std::optional<std::string> read_at(const Fd& fd, uint64_t offset, size_t size);
bool write_all(const Fd& fd, uint64_t offset, std::array<iovec, 3> parts);

// Where the next entry begins, from `offset` on: a head whose hash holds, of an entry that ends within `size`; `size`
// when there is none; nothing when the file cannot be read.
std::optional<uint64_t> next_entry(const Fd& fd, uint64_t offset, uint64_t size);

}  // namespace fathom::agent
