// NodeKeys: which key belongs to which node id, so that nobody else can be that node.
//
// Purpose: a node id is no secret: it travels in traces. An agent therefore sends a key with it, which its host keeps.
// The first key of a node id is its key from then on. An agent that has the id and another key, or none, is
// refused before the real agent's stream is replaced, with a warning in the log, once a second at most. Agents of
// versions without keys are accepted as long as their id has none. Thread safety: all of it. Ownership: of the file.
// Storage: docs/formats/node-keys.md; digests only. Errors: open() and reload(): kInternal or kUnavailable, naming the
// file. A key that cannot be stored counts until the end of the process, with a warning in the log. Bounds: kMost
// nodes; later ones have no key. 1,000 new nodes at once, and 20 a second. Losses: fathom_unbound_nodes_total.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/fd.h"
#include "base/log_pace.h"
#include "base/result.h"
#include "base/sha256.h"
#include "base/token_bucket.h"
#include "ingest/stream.h"

namespace fathom::collector {

class NodeKeys {
 public:
  static constexpr size_t kMost = 100'000;
  enum class Verdict {
    kAdmitted,
    kWrongKey,
    kLater,  // too many new nodes at once
  };

  // DIRECTORY/node-keys; without a directory, in memory only.
  static Result<std::shared_ptr<NodeKeys>> open(const std::string& directory);
  // Takes over what a person has changed in the file. With an error all stays as it was.
  Result<> reload();

  // Whether an agent with this key (zero: none) may be this node. May write to the disk.
  Verdict admit(const ingest::NodeId& node_id, const ingest::NodeKey& key);

 private:
  using Digests = std::unordered_map<ingest::NodeId, Sha256, IdHash>;

  explicit NodeKeys(std::string path) : path_(std::move(path)) {}
  Digests read(const std::string& text) const;
  void bind(const ingest::NodeId& node_id, const Sha256& digest);
  void warn_of_wrong_key(const ingest::NodeId& node_id);

  const std::string path_;
  std::mutex mutex_;
  Fd file_;
  Digests digests_;
  TokenBucket new_nodes_{20, 1000};
  LogPace pace_;
};

// Whether each line of DIRECTORY/node-keys is one.
Result<> check_node_keys(const std::string& directory);

}  // namespace fathom::collector
