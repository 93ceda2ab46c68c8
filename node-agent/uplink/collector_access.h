// CollectorAccess: where the collector is, and what it is shown and asked for.
//
// Thread safety: plain values.
#pragma once

#include <string>

#include "net/tls_client.h"

namespace fathom::agent {

struct CollectorAccess {
  std::string address;  // HOST:PORT of its ingest stream
  bool tls = false;
  net::ClientSecurity security = {};
};

}  // namespace fathom::agent
