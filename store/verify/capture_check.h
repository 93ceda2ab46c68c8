// Checks of captures: their headers, the rows that find them, and the SHA-256 of every content.
//
// Thread safety: one thread. Memory: the names of one bucket of contents. Errors: damage goes to the findings.
#pragma once

#include <functional>
#include <string>

#include "store/captures/blob_files.h"
#include "store/captures/capture_row.h"
#include "store/rocks/database.h"
#include "store/verify/findings.h"

namespace fathom::store {

// Bytes of the contents in the directory.
uint64_t content_bytes(const std::string& path);
void check_captures(Database& database, const std::string& path, Findings& findings);

// Reads a content from end to end. kNotFound: there is none; kCorrupt: it has another size or hash than its name says.
// `visit`, if given, gets its pieces in order.
using VisitPiece = std::function<Result<>(std::string_view piece)>;
Result<> read_content(const BlobFiles& files, const Sha256& hash, uint64_t size_bytes, const VisitPiece& visit = {});

}  // namespace fathom::store
