// OtlpHttpHandler: OTLP over HTTP, POST /v1/traces as protobuf or JSON, plain or compressed.
//
// Purpose: HTTP's side of the protocol: paths, methods, media types, content codings, CORS; the rest is Ingest's.
// Thread safety: as HttpHandler asks. Errors: every refusal is a google.rpc.Status in the request's own media type.
#pragma once

#include <memory>
#include <string>

#include "collector/ingest.h"
#include "net/http_server.h"

namespace fathom::collector {

// `cors_allow_origin`: "*" or one origin; empty sends no CORS headers and refuses preflights.
std::shared_ptr<net::HttpHandler> make_otlp_http_handler(std::shared_ptr<Ingest> ingest, std::string cors_allow_origin);

}  // namespace fathom::collector
