// file_stamp: the age clock's stamp of reception, kept as the time of modification of a snapshot's file.
//
// Thread safety: plain functions. Units: nanoseconds of the age time (store/clock/age_time.h). Errors: kUnavailable.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace fathom::query {

uint64_t file_stamp(const struct stat& about);
// Durable when it returns: after a power cut a file must not be as old as a wrong wall clock said.
Result<> write_file_stamp(const std::string& path, uint64_t stamp_nano);

}  // namespace fathom::query
