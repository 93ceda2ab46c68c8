// What a server has that checks can look at: asked of it, or read from a file that says it.
//
//     { "range": "since=1h", "trace": ID, "other": ID, "captured": ID, "snapshot": ID, "holder": {..}, "incident": {..} }
//
// `trace` has some spans, an error, a repeated operation and a missing parent (as make_trace.mjs makes it); `other` is
// one like it; `captured` has captures. tests/page_e2e_test.py says what `incident` and `holder` are: nothing finds them.
import { readFile } from "node:fs/promises";

// Else what the page chooses by itself.
const RANGE = process.env["FATHOM_E2E_RANGE"] ?? "";

export async function factsOf(base, path) {
  if (path) return JSON.parse(await readFile(path, "utf8"));
  const ask = async (question) => (await fetch(`${base}/api/v1/${question}`)).json();
  const { rows } = await ask(`slowest?${RANGE || "since=1h"}&limit=100`);
  const [large, other] = [...rows].sort((one, next) => next.spans - one.spans);
  const { captures } = await ask("captures?limit=200");
  const waited = captures.find(({ trace_id, trigger }) => trace_id && trigger === "overdue");
  const { snapshots } = await ask("snapshots?limit=20");
  return {
    range: RANGE,
    trace: large?.trace_id,
    other: other?.trace_id,
    captured: (waited ?? captures.find(({ trace_id }) => trace_id))?.trace_id,
    capture: (waited ?? captures[0])?.id,
    snapshot: snapshots[0]?.id,
  };
}

/** The check with the names of the facts that it cannot do without. */
export const needing = (needs, check) => Object.assign(check, { needs });
