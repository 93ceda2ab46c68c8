// NodeKeys: which key belongs to which node id, so that nobody else can be that node.
//
// Purpose: a node id is no secret: it travels in traces. An agent therefore sends a key with it, which its host keeps.
// The first key of a node id is its key from then on. Whoever comes with the id and another key, or with none, is
// refused before the real agent's stream is replaced. Agents of versions without keys are let in as long as their id
// has none. Thread safety: all of it. Ownership: of the file. Storage: docs/formats/node-keys.md; digests only. Errors:
// open(): kInvalid, naming the file. A key that cannot be stored counts until the end of the process, with a warning in
// the log. Bounds: kMost nodes; later ones have no key. Losses: fathom_unbound_nodes_total.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/fd.h"
#include "base/result.h"
#include "base/sha256.h"
#include "ingest/stream.h"

namespace fathom::collector {

class NodeKeys {
 public:
  static constexpr size_t kMost = 100'000;

  // DIRECTORY/node-keys; without a directory, in memory only.
  static Result<std::shared_ptr<NodeKeys>> open(const std::string& directory);

  // Whether an agent with this key (zero: none) may be this node. May write to the disk.
  bool admit(const ingest::NodeId& node_id, const ingest::NodeKey& key);

 private:
  NodeKeys(std::string path, Fd file) : path_(std::move(path)), file_(std::move(file)) {}
  void read(const std::string& text);
  void bind(const ingest::NodeId& node_id, const Sha256& digest);

  const std::string path_;
  const Fd file_;
  std::mutex mutex_;
  std::unordered_map<ingest::NodeId, Sha256, IdHash> digests_;
};

// Whether each line of DIRECTORY/node-keys is one.
Result<> check_node_keys(const std::string& directory);

}  // namespace fathom::collector
