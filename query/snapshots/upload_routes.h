// The addresses that take snapshots in: PUT .../snapshots/ID/bytes, PUT .../images/SHA256/bytes, POST
// .../images/missing.
//
// Purpose: what comes is taken piece by piece on a thread that may wait for the disk. Whoever reaches the listener may
// send; pages of other sites in a browser may not, as with control_routes.h: a browser asks before a PUT or a POST of
// JSON to another site, which nobody answers with yes, and an Origin must be this very host. Thread safety: all of it.
// Ownership: store and runner outlive it. Errors: kInvalid names the parameter; 409 with the offset that is due.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/byte_budget.h"
#include "net/http_server.h"
#include "query/runner.h"
#include "query/snapshots/snapshot_store.h"

namespace fathom::query {

inline constexpr uint64_t kMostMissingBodyBytes = 1 << 20;
inline constexpr size_t kMostAskedImages = 8192;

// What a PUT says before its body comes. kNotFound: nothing is put there.
Result<UploadPiece> upload_piece(const net::HttpRequest& request);
// The body of images/missing: {"sha256":["...", ...]}.
Result<std::vector<Sha256>> parse_asked_images(std::string_view body);

class UploadRoutes {
 public:
  // No store: everything is refused.
  UploadRoutes(SnapshotStore* store, QueryRunner* transfers);

  static bool takes(const net::HttpRequest& request);
  static uint64_t body_limit(const net::HttpRequest& request);
  // Why a request that it takes must not be handled; else memory for its body is asked for as it comes.
  std::optional<net::HttpResponse> admit(net::HttpRequest& request);
  void handle(net::HttpRequest request, net::HttpRespond respond);

 private:
  void put(net::HttpRequest request, net::HttpRespond respond);
  void missing(net::HttpRequest request, net::HttpRespond respond);

  SnapshotStore* const store_;
  QueryRunner* const transfers_;
  ByteBudget bodies_;
};

}  // namespace fathom::query
