// Checks of the files of a data directory as files: version, manifest of an upgrade's backup, manifest, logs, and every
// block of every sorted file.
//
// Thread safety: one thread. Errors: damage goes to the findings.
#pragma once

#include <string>

#include "store/verify/findings.h"
#include "store/verify/store_source.h"

namespace fathom::store {

// Whether this program reads the format; if not, the store cannot be checked.
bool check_version_file(const std::string& path, Findings& findings);
// The backup of an upgrade: its manifest, and that the listed parts exist, not what is in them. Whether the store can
// be checked: not while a revert replaces it.
bool check_upgrade_backup(const std::string& path, Findings& findings);
void check_manifest(const StoreSource& source, Findings& findings);
void check_logs(StoreSource& source, Findings& findings);
// Adds what check_sorted_files() will read.
void expect_sorted_files(StoreSource& source, Findings& findings);
// All blocks of all sorted files, data, indexes and filters; those that the manifest names, or, without a readable
// manifest, those in the directory.
void check_sorted_files(StoreSource& source, Findings& findings);

}  // namespace fathom::store
