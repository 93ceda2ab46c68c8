// The floor under the agent's figures: a collector that acknowledges each batch at once and keeps nothing.
//
// Purpose: with it, it is the agent that is measured. Thread safety: run it once per process.
#pragma once

namespace fathom::bench {

// Serves agents on a free port of 127.0.0.1, writes {"ingest":"HOST:PORT"} and a newline to `ready_fd`, until SIGTERM.
int run_ingest_sink(int ready_fd);

}  // namespace fathom::bench
