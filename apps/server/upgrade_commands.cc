#include "apps/server/upgrade_commands.h"

#include "store/rocks/upgrade_backup.h"

namespace fathom {

namespace {

Result<std::string> revert(const std::string& path) {
  const std::optional<store::PendingUpgrade> upgrade = store::pending_upgrade(path);
  Result<> reverted = store::revert_upgrade(path);
  if (!reverted) return reverted.error();
  return (upgrade ? store::describe_revert(path, *upgrade) + "\n" : std::string()) + "The upgrade is reverted.";
}

Result<std::string> commit(const std::string& path) {
  if (!store::has_backup(path)) return not_found(path + " has no upgrade that waits to be committed");
  Result<> committed = store::commit_upgrade(path);
  if (!committed) return committed.error();
  return std::string("The upgrade is committed and cannot be reverted any more.");
}

}  // namespace

std::optional<Result<std::string>> run_upgrade_command(const std::vector<std::string>& words) {
  if (words.empty() || (words[0] != "revert-upgrade" && words[0] != "commit-upgrade")) return std::nullopt;
  if (words.size() != 2 || words[1].starts_with('-')) {
    return invalid("usage: fathom-server " + words[0] + " DIR; see fathom-server --help");
  }
  return words[0] == "revert-upgrade" ? revert(words[1]) : commit(words[1]);
}

}  // namespace fathom
