// TracepointsFace: GET and POST /tracepoints of an agent, for `fathom tracepoints` on the same host.
//
// Purpose: GET lists the tracepoints of this host's programs: [{"pid", "service", "tracepoints": [{"name", "file",
// "line", "on", "fields": [...]}]}]. POST with the query `patterns` (as FATHOM_TRACEPOINTS has them) and `pid` or
// `service`, or neither for all, switches them, in programs that come later too. Thread safety: pure; the agent's
// loop calls. Errors: 400 for what is no pattern or no number, 404 for a process that is not here.
#pragma once

#include "net/http_server.h"
#include "node-agent/agent/agent.h"

namespace fathom::agent {

net::HttpResponse list_tracepoints(const Agent& agent);
net::HttpResponse switch_tracepoints(Agent& agent, const net::HttpRequest& request);

}  // namespace fathom::agent
