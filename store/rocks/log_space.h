// Whether a log may take space for records that come later.
//
// Purpose: on a small disk, that space is missing elsewhere, so it may be a small part of the free space only. Thread
// safety: a plain function. Errors: if the file system does not say how much is free, there is room.
#pragma once

#include <cstdint>
#include <string>

#include <rocksdb/file_system.h>

namespace fathom::store {

bool has_room_to_allocate(rocksdb::FileSystem& disk, const std::string& directory, uint64_t bytes);

}  // namespace fathom::store
