// UpgradeManifest: the file that says what the backup of an upgrade contains.
//
// Purpose: a revert removes each part of the directory that the file does not list. The file therefore ends with its
// own SHA-256. Files of older programs lack this hash; every byte of them must still be as those programs wrote it
// (docs/formats/data-directory.md). Thread safety: one thread per file. Errors: kUnavailable: the file is missing
// or cannot be read; kCorrupt: it is damaged; kUnsupported: a newer program wrote it.
#pragma once

#include <array>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/rocks/upgrade_backup.h"

namespace fathom::store {

// What the backup has and a revert restores, in the order in which all programs restore it. DIR/version is written
// last; DIR/ballast and DIR/ingest hold no data.
inline constexpr std::array kUpgradeParts = {"store",   "captures", "server-snapshots", "tracepoint-rules",
                                             "damaged", "clock"};

struct UpgradeManifest {
  PendingUpgrade upgrade;
  std::set<std::string> parts;
  bool has_hash = true;  // false: an older program wrote it
};

std::string encode_upgrade_manifest(const UpgradeManifest& manifest);
// The message is the reason only.
Result<UpgradeManifest> decode_upgrade_manifest(std::string_view bytes);

// `directory`: the backup. Replaces the file atomically and durably.
Result<> write_upgrade_manifest(const std::string& directory, const UpgradeManifest& manifest);
// The message names the file and the reason.
Result<UpgradeManifest> read_upgrade_manifest(const std::string& directory);

}  // namespace fathom::store
